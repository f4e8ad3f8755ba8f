/** A house of flows whose service takes everything, and what tests of its flows ask of it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { FlowSettings } from '../../src/config/sections.ts';
import type { CreditNote } from '../../src/domain/records.ts';
import type { FrontResult } from '../../src/origination/front.ts';
import type { StepAsked } from '../../src/origination/orders.ts';
import { linkKeyOf, workerKeyOf } from '../../src/wire/identity.ts';
import type { JsonObject } from '../../src/wire/json.ts';
import { type Prepared, readOperationAnswer } from '../../src/wire/operations.ts';
import { accepted, answered, claimed, contemplated, folded, proposed, requested } from '../bidding/parts.ts';
import { sampleLink, sampleRequest } from '../rules/sample-request.ts';
import { orderOf, startFlowHouse } from './flow-house.ts';
import { sampleNote } from './flow-world.ts';
import { plainVault } from './orders.ts';

const workerKey = workerKeyOf(plainVault, '52998224725');
export const heard = { firstByteAt: Date.now(), attempts: 1 };
export const uuid = (last: number) => `a1b2c3d4-0000-4000-8000-${String(last).padStart(12, '0')}`;

/** A house whose service takes everything, each call under a code of its own. */
export async function takingHouse(context: TestContext, change: Partial<FlowSettings> = {}) {
  const house = await startFlowHouse(context, undefined, change);
  const { world, won, details, front, state, reaches, tell } = house;
  const { cpf, registration, employerIdType, employerId } = orderOf('1').link!;
  const linkKey = linkKeyOf(plainVault, cpf, registration, employerIdType, employerId);
  details.set(linkKey, {
    ...{ ...sampleLink, linkKey, workerKey, eligible: true, terminationDate: null, availableMarginCents: 100_000 },
    receivedAt: house.clock.now(),
  });
  let codes = 0;
  world.answerTo = ({ operation }: Prepared) => {
    codes += 1;
    const body = `{"codigoRequisicao":"q-${codes}"}`;
    const reading = readOperationAnswer(operation, 200, body);
    assert(reading.kind === 'accepted', operation);
    return { ...reading, ...heard, response: { status: 200, body } };
  };
  // What a test includes is meant so, unless it says otherwise.
  const meant = (asked: StepAsked): StepAsked =>
    asked.step === 'inclusion' ? { despiteSimulation: true, despitePayee: true, ...asked } : asked;
  const ask = (flowId: string, asked: StepAsked) => front.ask(flowId, { by: 'ana', key: randomUUID() }, meant(asked));
  const start = (requestId: string, change: object = {}) => {
    const request = { ...sampleRequest, workerKey };
    won.set(
      requestId,
      folded(requested({ requestId, request }), claimed(), answered(accepted), contemplated(), proposed()),
    );
    const order = orderOf(requestId);
    return front.startContract(
      { by: 'ana', key: `k-${requestId}` },
      { ...order, despiteBid: true, contract: { ...order.contract, ...change } },
    );
  };
  /** As reckoned here, so that nobody has to accept it. */
  const noteFor = async (flowId: string, change: Partial<CreditNote>): Promise<CreditNote> => {
    const { loanCents, iofCents, installmentCents, insuranceCents, rateHundredths } = (await state(flowId))!.expected!;
    return {
      ...{ ...sampleNote, loanCents: loanCents!, iofCents: iofCents!, installmentCents: installmentCents! },
      ...{ insuranceCents: insuranceCents!, rateMonthlyPercent: rateHundredths! / 100, ...change },
    };
  };
  const tellNote = async (flowId: string, note: CreditNote | null, errors: readonly string[] = []) => {
    const requestCode = (await state(flowId))!.requestCode!;
    const event = { kind: 'credit-note', at: Date.now(), requestCode, of: 'contract', note, errors } as const;
    await tell(requestCode, { ...event, sealed: '{"Erros":[{"Codigo":"E1"}]}' });
  };
  const noted = async (flowId: string, change: Partial<CreditNote>) => {
    await reaches(flowId, 'awaiting-note');
    await tellNote(flowId, await noteFor(flowId, change));
    await reaches(flowId, 'awaiting-signature');
  };
  const sign = (flowId: string, content: JsonObject) => ask(flowId, { step: 'sign', signedAt: Date.now(), content });
  return { ...house, ask, start, noteFor, tellNote, noted, sign };
}

export function refusedBy(result: FrontResult): readonly (readonly [rule: string, field: string])[] {
  assert(result.kind === 'refused', JSON.stringify(result));
  return result.breaches.map(({ rule, field }) => [rule, field] as const);
}
