/** Errors of the API as problem documents (RFC 9457): what was wrong, in which field, by which rule. They quote no input. */
import type { FastifyError, FastifyReply } from 'fastify';
import { hasZodFastifySchemaValidationErrors, isResponseSerializationError } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { Fault } from '../../errors.ts';
import { answerNamed, measured, said, saidOfParts } from './described.ts';
import { fieldName } from './fields.ts';
import { faultsOf, mostKeys } from './remedies.ts';

const titles = {
  malformed: [400, 'The request cannot be read'],
  unauthorised: [401, 'A valid token is needed'],
  forbidden: [403, 'The role of this token may not do this'],
  'cross-site': [403, 'An order of a browser did not come from a page of this desk'],
  'login-refused': [403, 'The log-in was refused'],
  'not-found': [404, 'There is no such thing'],
  'method-not-allowed': [405, 'This path takes other methods'],
  conflict: [409, 'It conflicts with what was asked before'],
  'not-allowed': [409, 'It is not possible where things stand'],
  'too-large': [413, 'The body is too large'],
  unsupported: [415, 'The body is not sent as JSON, or is coded'],
  'too-many': [429, 'Too many requests'],
  invalid: [422, 'The request is not what the schema says'],
  breach: [422, 'The request would break a rule of the contract'],
  unavailable: [503, 'Try again with the same key'],
  internal: [500, 'The request could not be served'],
} as const;
type ProblemName = keyof typeof titles;

const typeOf = (name: ProblemName) => `urn:problem:lance:${name}` as const;
const types = (Object.keys(titles) as ProblemName[]).map(typeOf);

/** `rule` is stable and made for programs; `field` names the part of the request, as `fieldName` does. */
type ProblemError = { field: string; rule: string; detail: string };

const problemSchema = answerNamed(
  z.object({
    type: said(z.enum(types), 'Stable name of the problem', typeOf('invalid')),
    title: said(z.string(), 'What kind of problem it is', titles.invalid[1]),
    status: said(measured(z.int(), 'a number as it stands, without a unit'), 'The HTTP status', 422),
    detail: said(z.string(), 'What is wrong, in words', 'installments: write at most 480'),
    errors: saidOfParts(
      z.array(
        z.object({
          field: said(
            z.string(),
            'Part of the request: of the body its path in it, such as `contract.installments` (`body` is the whole of it), of a header its name, such as `Idempotency-Key`, of an address the name of the parameter or of the part of the path. A key that is not known is named itself',
            'installments',
          ),
          rule: said(z.string(), 'Stable name of the rule that it breaks', 'too_big'),
          detail: said(
            z.string(),
            'What is wrong and what to send: the limit, or the allowed values',
            'write at most 480',
          ),
        }),
      ),
      'One for each fault; empty where no field is at fault',
    ),
    outcome: said(
      z.record(z.string(), z.unknown()).optional(),
      'What became of an order that was not done, for programs: `kind` is stable, and what else there is belongs to it',
      { kind: 'same-person', people: ['ana'] },
    ),
  }),
  'Problem',
  'What went wrong (RFC 9457). It quotes no value that was sent',
);

const problemType = 'application/problem+json';

export function problem(
  reply: FastifyReply,
  name: ProblemName,
  detail: string,
  errors: readonly ProblemError[] = [],
  outcome?: { kind: string },
): FastifyReply {
  const [status, title] = titles[name];
  if (status === 401) void reply.header('www-authenticate', 'Bearer');
  if (status === 503) void reply.header('retry-after', '1');
  return reply
    .code(status)
    .type(problemType)
    .serializer((body: unknown) => JSON.stringify(body))
    .send({ type: typeOf(name), title, status, detail, errors, ...(outcome === undefined ? {} : { outcome }) });
}

/** Every answer that a path may give besides its own. */
export const problemResponses = Object.fromEntries(
  [...new Set(Object.values(titles).map(([status]) => status))].map((status) => [
    status,
    {
      description: Object.entries(titles)
        .filter(([, [of]]) => of === status)
        .map(([name, [, title]]) => `\`${name}\`: ${title}`)
        .join('; '),
      content: { [problemType]: { schema: problemSchema } },
    },
  ]),
);

/** Headers that come with a problem, by its status. */
export const problemHeaders: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  401: { 'WWW-Authenticate': '`Bearer`' },
  405: { Allow: 'The methods that this path takes, with commas between them' },
  415: { 'Accept-Encoding': '`identity`, where the body was coded' },
  503: { 'Retry-After': 'Seconds to wait' },
};

/** A body that is not sent as it is. */
export function coded(coding: string): Error {
  return Object.assign(new Error('the body is coded'), { statusCode: 415, coding });
}

/** A body that cannot be read; `why` quotes no value of it. */
export function unreadable(why: string): Error {
  return Object.assign(new Error('the body cannot be read'), { statusCode: 400, why });
}

type ErrorWorld = {
  onFault: (text: string) => void;
  bodyLimitBytes: number;
  /** What the route takes: its `body`, `querystring`, `params` and `headers`. */
  schemas: Readonly<Record<string, unknown>>;
};

/** No more of them are told at once: a list of faults could be many times as long as the body. */
const mostErrors = 100;

/** A key that is not known is named itself, not what it stands in. */
function oneByOne(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'unrecognized_keys') return [issue];
  return issue.keys.slice(0, mostKeys).map((key) => ({ ...issue, keys: [key] }));
}

/** The route, not the path, which may hold a token. Only the message of a fault is known to quote nothing of what was sent. */
export function failureText(kind: 'API' | 'HTTP', { request }: FastifyReply, error: Error): string {
  const cause = error instanceof Fault ? `${error.code}: ${error.message}` : error.name;
  return `an ${kind} request failed: ${request.method} ${request.routeOptions.url ?? 'unknown route'}: ${cause}`;
}

/** What became of an error that nobody answered. `onFault` hears of our own; the text quotes no input. */
export function answerError(
  error: FastifyError,
  reply: FastifyReply,
  { onFault, bodyLimitBytes, schemas }: ErrorWorld,
): FastifyReply {
  if (hasZodFastifySchemaValidationErrors(error)) {
    const context = error.validationContext ?? 'body';
    const schema = schemas[context];
    const { body, headers, params, query: querystring } = reply.request;
    const sent: Readonly<Record<string, unknown>> = { body, headers, params, querystring };
    const issues = error.validation.flatMap(({ keyword, instancePath, params, message = '' }) => {
      const path = instancePath.split('/').filter((part) => part !== '');
      return oneByOne({ ...params, path, code: keyword, message } as unknown as z.core.$ZodIssue);
    });
    const faults = schema instanceof z.ZodType ? faultsOf(issues, sent[context], schema) : [];
    const errors = faults.slice(0, mostErrors).map(({ path, unknown, rule, text }) => ({
      field: fieldName(context, [...path, ...unknown]),
      rule,
      detail: text,
    }));
    const [first] = errors;
    const others = faults.length > 1 ? ` And ${faults.length - 1} more, in errors` : '';
    const more = others === '' ? '' : `${others}${faults.length > mostErrors ? ` the first ${mostErrors}` : ''}.`;
    return problem(reply, 'invalid', `${first?.field}: ${first?.detail}.${more}`, errors);
  }
  // It names a partition, a process and why, and nothing that was sent.
  if (error instanceof Fault && error.code === 'owner-unasked') return problem(reply, 'unavailable', error.message);
  if (error instanceof Fault && error.retryable)
    return problem(reply, 'unavailable', 'The log or the views do not answer.');
  const status = isResponseSerializationError(error) ? 500 : (error.statusCode ?? 500);
  if (status === 503) return problem(reply, 'unavailable', 'Too many requests are being read.');
  if (status === 413)
    return problem(reply, 'too-large', `A body has at most ${bodyLimitBytes} bytes: the setting api.bodyLimitBytes.`);
  const { coding } = error as { coding?: string };
  if (coding !== undefined) {
    const detail = `The body is coded (${coding}); send it as it is (identity), without Content-Encoding.`;
    void reply.header('accept-encoding', 'identity');
    return problem(reply, 'unsupported', detail, [{ field: 'Content-Encoding', rule: 'identity', detail }]);
  }
  if (status === 415) return problem(reply, 'unsupported', 'Send JSON, as application/json.');
  if (status >= 400 && status < 500) {
    const { why } = error as { why?: string };
    const about = why === undefined ? '' : ` (${why})`;
    return problem(reply, 'malformed', `The request could not be read: send one JSON object${about}.`);
  }
  onFault(failureText('API', reply, error));
  return problem(reply, 'internal', 'It was written down; nothing was done by halves.');
}
