/** Errors of the API as problem documents (RFC 9457): what was wrong, in which field, by which rule. They quote no input. */
import type { FastifyError, FastifyReply } from 'fastify';
import { hasZodFastifySchemaValidationErrors, isResponseSerializationError } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { Fault } from '../../errors.ts';

const titles = {
  malformed: [400, 'The request cannot be read'],
  unauthorised: [401, 'A valid token is needed'],
  forbidden: [403, 'The role of this token may not do this'],
  'not-found': [404, 'There is no such thing'],
  conflict: [409, 'It conflicts with what was asked before'],
  'not-allowed': [409, 'It is not possible where things stand'],
  'too-large': [413, 'The body is too large'],
  unsupported: [415, 'The body is of a kind that is not read'],
  'too-many': [429, 'Too many requests'],
  invalid: [422, 'The request is not what the schema says'],
  breach: [422, 'The request would break a rule of the contract'],
  unavailable: [503, 'Try again with the same key'],
  internal: [500, 'The request could not be served'],
} as const;
type ProblemName = keyof typeof titles;

/** `rule` is stable and made for programs; `field` names the part of the request, with dots. */
type ProblemError = { field: string; rule: string; detail: string };

const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z.array(z.object({ field: z.string(), rule: z.string(), detail: z.string() })),
});

const problemType = 'application/problem+json';

export function problem(
  reply: FastifyReply,
  name: ProblemName,
  detail: string,
  errors: readonly ProblemError[] = [],
): FastifyReply {
  const [status, title] = titles[name];
  if (status === 401) void reply.header('www-authenticate', 'Bearer');
  if (status === 503) void reply.header('retry-after', '1');
  return reply
    .code(status)
    .type(problemType)
    .serializer((body: unknown) => JSON.stringify(body))
    .send({ type: `urn:problem:lance:${name}`, title, status, detail, errors });
}

/** Every answer that a route may give besides its own. */
export const problemResponses = Object.fromEntries(
  [...new Set(Object.values(titles).map(([status]) => status))]
    .filter((status) => status !== 500)
    .map((status) => [
      status,
      {
        description: Object.values(titles)
          .filter(([of]) => of === status)
          .map(([, title]) => title)
          .join('; '),
        content: { [problemType]: { schema: problemSchema } },
      },
    ]),
);

/** What became of an error that nobody answered. `onFault` hears of our own; the text quotes no input. */
export function answerError(
  error: FastifyError,
  reply: FastifyReply,
  { onFault, bodyLimitBytes }: { onFault: (text: string) => void; bodyLimitBytes: number },
): FastifyReply {
  if (hasZodFastifySchemaValidationErrors(error)) {
    const context = error.validationContext ?? 'body';
    const errors = error.validation.map((each) => ({
      field: [context, ...each.instancePath.split('/').slice(1)].join('.'),
      rule: each.keyword,
      detail: ruleText(each.params, each.message),
    }));
    return problem(reply, 'invalid', 'Some fields are missing or are not what the schema says.', errors);
  }
  if (error instanceof Fault && error.retryable)
    return problem(reply, 'unavailable', 'The log or the views do not answer.');
  const status = isResponseSerializationError(error) ? 500 : (error.statusCode ?? 500);
  if (status === 503) return problem(reply, 'unavailable', 'Too many requests are being read.');
  if (status === 413)
    return problem(reply, 'too-large', `A body has at most ${bodyLimitBytes} bytes: the setting api.bodyLimitBytes.`);
  if (status === 415) return problem(reply, 'unsupported', 'Send JSON, as application/json.');
  if (status >= 400 && status < 500) return problem(reply, 'malformed', 'The request could not be read.');
  onFault(`an API request failed: ${error.name}`);
  return problem(reply, 'internal', 'It was written down; nothing was done by halves.');
}

/** zod's own words, without what was given. */
function ruleText(params: unknown, text: string | undefined): string {
  const { message, expected, format } = params as { message?: unknown; expected?: unknown; format?: unknown };
  // The words of a pattern are those of the schema, or the pattern itself.
  if (format === 'regex' && text !== undefined) return text.slice(0, 200);
  if (typeof format === 'string') return `send a text of the form ${format}`;
  if (typeof expected === 'string') return `send ${expected}`;
  return typeof message === 'string' ? message.slice(0, 200) : 'see the schema';
}
