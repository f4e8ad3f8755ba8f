/** `lance withdrawals|contracts|lookups … results`: what the service answered, for people to read; the reading is recorded first. */
import type { FlowSettings } from '../config/sections.ts';
import type { FlowKind } from '../domain/flow-records.ts';
import { Fault } from '../errors.ts';
import { errorLines } from '../origination/shown-flows.ts';
import { linkFactsIn, type ResultShown, readResult } from '../origination/worker-reading.ts';
import { isJsonObject, type JsonValue } from '../wire/json.ts';
import { decodeLinkList } from '../wire/links.ts';
import { installmentsAnswer, proposalRecord, simulationAnswer } from '../wire/withdrawals.ts';
import { linkText } from './bids-worker.ts';
import { remoteDesk } from './desk-control.ts';
import { notFound, situationText } from './flows.ts';
import type { Format } from './format.ts';
import { labelledText, proseText, tableText } from './terminal.ts';
import { type CommandWorld, vaultOf, withReader } from './world.ts';

/** Throws `not-found` where there is no such flow, or no answer to the operation. */
export async function showResult(
  world: CommandWorld,
  flow: FlowKind,
  { flowId, what, by, reason, json }: { flowId: string; what: string; by?: string; reason: string; json: boolean },
): Promise<void> {
  const { terminal, format, clock } = world;
  const { flows: texts } = format.texts;
  const tell = (result: ResultShown, situations: FlowSettings['situations']) => {
    const { at, refused, answer } = result;
    if (json) return terminal.write(JSON.stringify(result));
    const shown = refused ? refusalText(answer) : resultText(format, answer, { what, at, situations });
    terminal.write(`${texts.answeredAt(format.time(at), refused)}\n\n${shown}`);
  };
  const desk = await remoteDesk(world, { ...(by === undefined ? {} : { by }) });
  // What numbers of states stand for is in the settings of that desk.
  if (desk !== null) return tell(await desk.result(flow, { flowId, what }, reason), []);
  if (by === undefined) throw new Fault('option-missing', format.texts.remote.nobodyNamed);
  const { flows: settings } = world.writing();
  await withReader(world, async ({ log, flows, appendBeside }) => {
    const vault = await vaultOf(world, { log });
    const state = (await flows.read([flowId])).get(flowId);
    if (state?.flow !== flow) throw await notFound(format, flows, flow, flowId);
    const result = await readResult({ append: appendBeside, vault, clock }, state, {
      what,
      who: { by, via: 'offline' },
      reason,
    });
    const known = Object.entries(state.results).flatMap(([name, kept]) => (kept?.sealedAnswer ? [name] : []));
    if (result === null) throw new Fault('not-found', texts.noResult(flowId, what, known));
    tell(result, settings.situations);
  });
}

/** What the service said against it; an answer in no form that is known is shown as it came. */
function refusalText(answer: JsonValue): string {
  const lines = errorLines(answer);
  return lines.length === 0 ? JSON.stringify(answer, null, 2) : proseText(lines.join('\n'));
}

/** What was asked, when it was answered (epoch ms), and what the settings know of the service's numbers for states. */
type Asked = { what: string; at: number; situations: FlowSettings['situations'] };

/** An answer that does not read as one of its kind is shown as it came. */
export function resultText(format: Format, answer: JsonValue, asked: Asked): string {
  return textOf(format, answer, asked) ?? JSON.stringify(answer, null, 2);
}

function textOf(format: Format, answer: JsonValue, { what, at, situations }: Asked): string | null {
  if (!isJsonObject(answer)) return null;
  switch (what) {
    case 'simulation':
      return simulationText(format, answer);
    case 'proposal':
      return proposalText(format, answer, situations);
    case 'installments':
      return installmentsText(format, answer);
    case 'links':
      return linksText(format, answer, at);
    default:
      return null;
  }
}

/** Figures that were not said have an empty cell. */
function figures({ money, number, day: dayText }: Format) {
  const cents = (value: number | null) => (value === null ? '' : money(value));
  const percent = (value: number | null) => (value === null ? '' : `${number(value, 2)} %`);
  const plain = (value: number | string | null) => (value === null ? '' : String(value));
  const day = (value: string | null) => (value === null ? '' : dayText(value));
  return { cents, percent, plain, day };
}

function simulationText(format: Format, answer: JsonValue): string | null {
  const decoded = simulationAnswer.decode(answer);
  if (decoded.kind === 'refused') return null;
  const { simulations, failures } = decoded.value;
  if (simulations === null && failures === null) return null;
  const { cents, percent, plain, day } = figures(format);
  const rows = (simulations ?? []).map((each) => [
    ...[plain(each.period), day(each.startsOn), day(each.endsOn), cents(each.releasedCents)],
    ...[cents(each.operationCents), cents(each.iofCents), cents(each.additionalIofCents), cents(each.feeCents)],
    ...[percent(each.rateMonthlyPercent), percent(each.cetAnnualPercent)],
  ]);
  const { simulationHeader, periodFailed } = format.texts.flows.results;
  const failed = (failures ?? []).map(({ period, text, messages }) => {
    const said = [text, ...(messages ?? []).map(({ description }) => description)].filter((each) => each !== null);
    return periodFailed(plain(period), said.join('; '));
  });
  return [
    ...(rows.length === 0 ? [] : [tableText(simulationHeader, rows, { right: [0, 3, 4, 5, 6, 7, 8, 9] })]),
    ...failed,
  ].join('\n');
}

function proposalText(format: Format, answer: JsonValue, situations: Asked['situations']): string | null {
  const decoded = proposalRecord.decode(answer);
  if (decoded.kind === 'refused') return null;
  const { value } = decoded;
  const { cents, percent, plain, day } = figures(format);
  const { proposal: labels, entriesHeader } = format.texts.flows.results;
  const said = labelledText(
    (
      [
        [labels.code, plain(value.proposalCode ?? value.code)],
        [labels.situation, situationText(format.texts.flows, value.situation, situations) ?? ''],
        [labels.included, value.includedAt === null ? '' : format.time(value.includedAt)],
        [labels.note, plain(value.noteNumber)],
        [labels.financed, cents(value.financedCents)],
        [labels.iof, cents(value.iofCents)],
        [labels.insurance, cents(value.insuranceCents)],
        [labels.fee, cents(value.feeCents)],
        [labels.credit, cents(value.totalCreditCents)],
        [labels.debt, cents(value.totalDebtCents)],
        [labels.installments, plain(value.installments)],
        [labels.interest, percent(value.interestMonthlyPercent)],
        [labels.cet, percent(value.cetAnnualPercent)],
        [labels.rejected, plain(value.rejectionReason)],
        [labels.pending, plain(value.pendingReason)],
        [labels.cancelled, plain(value.cancellationReason)],
        [labels.payment, plain(value.paymentText)],
      ] as const
    ).map(([label, text]) => [label, text === '' ? null : text] as const),
  );
  const entries = (value.entries ?? []).map((entry) => [
    ...[plain(entry.fieldText ?? entry.fieldId), cents(entry.amountCents), day(entry.dueOn), day(entry.paidOn)],
    ...[plain(entry.payeeName), plain(entry.bankNumber), plain(entry.branch), plain(entry.account)],
  ]);
  return entries.length === 0 ? said : `${said}\n\n${tableText(entriesHeader, entries, { right: [1] })}`;
}

function installmentsText(format: Format, answer: JsonValue): string | null {
  const decoded = installmentsAnswer.decode(answer);
  if (decoded.kind === 'refused' || decoded.value.installments === null) return null;
  const { cents, plain, day } = figures(format);
  const rows = decoded.value.installments.map(({ number, dueOn, computed }) => [
    ...[plain(number), day(dueOn), cents(computed?.fineCents ?? null), cents(computed?.lateInterestCents ?? null)],
    ...[cents(computed?.contractInterestCents ?? null), cents(computed?.chargesCents ?? null)],
    ...[cents(computed?.rebateCents ?? null), cents(computed?.balanceCents ?? null)],
  ]);
  return tableText(format.texts.flows.results.installmentsHeader, rows, { right: [0, 2, 3, 4, 5, 6, 7] });
}

function linksText(format: Format, answer: JsonValue, at: number): string | null {
  const detail = linkFactsIn(answer, at);
  if (detail !== null) return linkText(format, detail);
  const list = decodeLinkList(answer);
  if (list.kind === 'refused') return null;
  const { flows, worker } = format.texts;
  const rows = list.value.links.map(({ registration, employerId, eligible, ineligibility }) => [
    ...[registration, employerId, eligible === null ? '' : eligible ? worker.yes : worker.no],
    ineligibility === null ? '' : `${ineligibility.code} ${ineligibility.text ?? ''}`.trimEnd(),
  ]);
  return tableText(flows.results.linksHeader, rows);
}
