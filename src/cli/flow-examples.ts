/** `lance contracts|renegotiations|withdrawals|lookups example`: an order or the fields of a step, as `start` and `step` take them from a file. */
import type { z } from 'zod';
import type { RequestState } from '../domain/states.ts';
import { sealedPlaces } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import { exampleOf, fieldsAt, isText, partAt } from '../http/api/described.ts';
import { issueTexts } from '../http/api/remedies.ts';
import { contractBody, lookupBody, renegotiationBody, stepBodies, withdrawalBody } from '../http/api/schemas.ts';
import { noteIndex } from '../origination/notes.ts';
import { contractId, linkNamed } from '../origination/orders.ts';
import { leftOpenProblem, openedExample, placeholdersIn } from '../origination/placeholders.ts';
import {
  type ContractOrder,
  isLost,
  isWonBid,
  mayBeContemplated,
  notContemplated,
} from '../origination/preparation.ts';
import { opened } from '../origination/shown-flows.ts';
import { stepsOf } from '../origination/steps.ts';
import { noteReading } from '../origination/worker-reading.ts';
import type { JsonObject } from '../wire/json.ts';
import { openWith, type StartedKind, saidText } from './flows.ts';
import { type CommandWorld, vaultOf, withReader } from './world.ts';

const orders: Readonly<Record<StartedKind, z.ZodType>> = {
  contract: contractBody,
  renegotiation: renegotiationBody,
  withdrawal: withdrawalBody,
  lookup: lookupBody,
};

type Fields = Record<string, unknown>;

/** `set`: fields with other values, as `account.branch=0002`. `reading`: who reads what the flow has of the worker, and why; left out: nobody does. */
export type ExampleOptions = {
  step: string | null;
  set: readonly string[];
  reading?: { by: string; reason: string } | null;
};

/**
 * Writes it to standard output. A contract is that of a won bid: of `requestId`, or else of the latest one whose proposal stands.
 * Throws `not-allowed` for a step or a field that there is not, `not-found` for a request without a bid.
 */
export async function showExample(
  world: CommandWorld,
  flow: StartedKind,
  requestId: string | null,
  { step, set, reading = null }: ExampleOptions,
): Promise<void> {
  const { flows: texts } = world.format.texts;
  const schema = step === null ? orders[flow] : stepSchema(world, flow, step);
  const terms = flow === 'contract' && step === null ? await termsOfBid(world, requestId) : {};
  const own =
    flow === 'contract' && step === 'amend' && requestId !== null ? await ownValues(world, requestId, reading) : null;
  const made = madeUpFor(schema, flow, step, own) as JsonObject;
  const known = [...Object.keys(terms), ...placesOf(own ?? {})];
  const isKnown = (place: string) => known.includes(place);
  // What only the asker knows is left open, so that nothing invented is ever sent.
  const example = openedExample({ ...made, ...terms } as JsonObject, isKnown) as Fields;
  // What is amended is what was named, with what the flow has of it: the rest stays as it is.
  if (step === 'amend' && set.length > 0) {
    const named = new Set(set.map((each) => each.split(/[.=]/, 1)[0]!));
    for (const field of Object.keys(example)) {
      const known = named.has(field) ? own?.[field] : undefined;
      if (known === undefined) delete example[field];
    }
  }
  if (step === 'sign' && requestId !== null) await nameNote(world, example, requestId);
  for (const each of set) setField(world, schema, example, each);
  if (flow === 'renegotiation' && step === null && hasStore(world)) await leaveOutOwnRate(world, example);
  const open = placeholdersIn(example);
  if (open.length > 0) world.terminal.say(texts.leftOpen(open.join(', ')));
  const isQueried = step === null && (flow === 'renegotiation' || flow === 'lookup');
  if (isQueried && example.authorisationNumber === undefined) world.terminal.say(texts.authorisationLeftOut);
  if (example[accepted] === false) world.terminal.say(texts.notAcceptedYet);
  const read = schema.safeParse(example);
  if (!read.success) {
    const problems = issueTexts(read.error, example, schema).flatMap(([field, text]) =>
      text === leftOpenProblem ? [] : [`${field}: ${saidText(world.format, field, text)}`],
    );
    if (problems.length > 0) throw new Fault('not-allowed', problems.join('\n'));
  }
  world.terminal.write(JSON.stringify(example, null, 2));
}

/** What the orderer of a contract says of the worker. */
const accepted = 'workerAccepted';

function placesOf(fields: object): readonly string[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null ? placesOf(value).map((inner) => `${name}.${inner}`) : [name],
  );
}

function madeUpFor(schema: z.ZodType, flow: StartedKind, step: string | null, own: Fields | null): Fields {
  // Nobody goes on despite events, a bid, a simulation or a closed loan before he has been refused for them.
  const example = Object.fromEntries(
    Object.entries(structuredClone(exampleOf(schema)) as Fields).filter(([name]) => !name.startsWith('despite')),
  ) as Fields;
  // Nobody says so unread: the order is refused until somebody has looked.
  if (accepted in example) example[accepted] = false;
  const made = termsToAmend(flow, step) ?? example;
  if (own === null) return made;
  const { contract, link } = stepBodies.amend.shape;
  const terms = structuredClone(exampleOf(contract)) as Fields;
  // What is not shown of the order has to be said all the same.
  const { account, agentCpf } = terms;
  const whole = own.contract === undefined ? terms : { account, agentCpf, ...(own.contract as Fields) };
  return { link: structuredClone(exampleOf(link)), ...made, ...own, contract: whole };
}

/**
 * What an amendment of a contract may change, as the flow has it; what it says of the worker only to a reader who is recorded. What is
 * sealed with another key is not known. Throws `not-found`.
 */
async function ownValues(world: CommandWorld, id: string, reading: ExampleOptions['reading']): Promise<Fields> {
  const { format, clock } = world;
  return withReader(world, async ({ log, flows, appendBeside }, place) => {
    const flowId = id.startsWith('c-') ? id : contractId(id);
    const state = (await flows.read([flowId])).get(flowId);
    if (state === undefined) throw new Fault('not-found', format.texts.flows.notFound(flowId));
    const open = openWith(world, place);
    const sealed =
      open === null || state.sealed === null ? null : opened(open, sealedPlaces.flowOrder(flowId), state.sealed);
    if (sealed === null) return {};
    const { contract, link } = sealed as ContractOrder;
    const { requestId: _, ...terms } = contract;
    if (reading == null) {
      const { account: _account, agentCpf: _agent, ...loan } = terms;
      world.terminal.say(format.texts.flows.ownHidden);
      return { contract: told(loan) };
    }
    const { by, reason } = reading;
    const vault = await vaultOf(world, { log });
    const who = { by, via: 'offline' } as const;
    await noteReading({ append: appendBeside, vault, clock }, flowId, { what: 'order', who, reason });
    const known = linkNamed(link);
    const number = link?.authorisationNumber ?? null;
    return {
      contract: told(terms),
      ...(known === null ? {} : { link: known }),
      ...(number === null ? {} : { authorisationNumber: number }),
    };
  });
}

/** Without what was left out when it was said. */
function told(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

/** Other terms of a renegotiation, which is what most often has to change; null: it is no amendment of one. */
function termsToAmend(flow: StartedKind, step: string | null): Fields | null {
  if (step !== 'amend' || flow !== 'renegotiation') return null;
  const { rateHundredths: _, ...terms } = structuredClone(exampleOf(stepBodies.amend.shape.renegotiation)) as Fields;
  return { renegotiation: terms };
}

function stepSchema({ format }: CommandWorld, flow: StartedKind, step: string): z.ZodType {
  const steps = stepsOf(flow);
  const named = steps.find((each) => each === step);
  if (named === undefined) throw new Fault('not-allowed', format.texts.flows.badStep(step, steps));
  return stepBodies[named];
}

/** What the bid of a request promised. Without a store there is none: the example is then made up. */
async function termsOfBid(world: CommandWorld, requestId: string | null): Promise<Fields> {
  const { terminal, format } = world;
  const { flows: texts } = format.texts;
  if (requestId === null && !hasStore(world)) {
    terminal.say(texts.madeUp);
    return {};
  }
  return withReader(world, async ({ views }) => {
    const state =
      requestId === null
        ? (await views.query({ phase: 'proposed', limit: 1, before: null }))[0]?.state
        : (await views.read([requestId])).get(requestId)?.state;
    if (state?.claim) {
      if (!isWonBid(state)) {
        const why = `${state.requestId}: ${texts.said(notContemplated(state).problem)}`;
        if (isLost(state.phase) || !mayBeContemplated(state)) throw new Fault('not-allowed', why);
        terminal.say(why);
      }
      if (requestId === null) terminal.say(texts.exampleOf(state.requestId));
      return termsIn(state.requestId, state.claim);
    }
    if (requestId !== null) throw new Fault('not-found', texts.noBid(requestId));
    terminal.say(texts.madeUp);
    return {};
  });
}

function termsIn(requestId: string, { offer }: NonNullable<RequestState['claim']>): Fields {
  const { amountCents, installments, rateHundredths } = offer;
  return { requestId, amountCents, installments, rateHundredths };
}

/** `id`: of the flow, or of the request that it is of. */
async function nameNote(world: CommandWorld, example: Fields, id: string): Promise<void> {
  const { flows: texts } = world.format.texts;
  await withReader(world, async ({ flows }) => {
    const flowId = id.startsWith('c-') ? id : contractId(id);
    const noteNumber = (await flows.read([flowId])).get(flowId)?.note?.noteNumber ?? null;
    if (noteNumber === null) throw new Fault('not-found', texts.noNote(flowId));
    (example.content as Fields).numeroContrato = noteNumber;
  });
}

/** The rate of a contract that was made here is known, and is not said again. */
async function leaveOutOwnRate(world: CommandWorld, example: Fields): Promise<void> {
  await withReader(world, async ({ flows }) => {
    const code = noteIndex(String(example.closedContract));
    if ((await flows.findByCode([code])).has(code)) delete example.originalRateHundredths;
  });
}

function hasStore(world: CommandWorld): boolean {
  try {
    world.place();
    return true;
  } catch (fault) {
    if (fault instanceof Fault && fault.code === 'configuration-invalid') return false;
    throw fault;
  }
}

/** A value that is JSON counts as what it says where the field is no text. A part that the example leaves out is begun. */
function setField({ format }: CommandWorld, schema: z.ZodType, example: Fields, given: string): void {
  const known = [...(fieldsAt(schema, [])?.keys() ?? [])];
  const refusal = () => new Fault('not-allowed', format.texts.flows.badField(given, known));
  const [, path, value] = /^([\w.-]{1,200})=(.*)$/s.exec(given) ?? [];
  if (path === undefined || value === undefined) throw refusal();
  const parts = path.split('.');
  // Names that every object has are no fields.
  if (parts.some((part) => part in {})) throw refusal();
  const last = parts.pop()!;
  let inner: Fields = example;
  for (const [index, part] of parts.entries()) {
    const isBegun = Object.hasOwn(inner, part);
    if (!isBegun && fieldsAt(schema, parts.slice(0, index + 1)) !== null) inner[part] = {};
    const next = Object.hasOwn(inner, part) ? inner[part] : null;
    if (typeof next !== 'object' || next === null) throw refusal();
    inner = next as Fields;
  }
  const field = partAt(schema, [...parts, last]);
  const isTextField =
    field !== null
      ? isText(field)
      : Object.hasOwn(inner, last)
        ? typeof inner[last] === 'string'
        : !/^(-?\d|true$|false$|[[{])/.test(value);
  try {
    inner[last] = isTextField ? value : (JSON.parse(value) as unknown);
  } catch {
    if (field === null) throw refusal();
    // What the field wants instead is told with all that is wrong.
    inner[last] = value;
  }
}
