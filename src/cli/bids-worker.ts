/** `lance bids worker`: who stands behind a won bid. Whoever holds the pseudonym key may ask; the reading is recorded first. */
import { Fault } from '../errors.ts';
import { type LinkFacts, readWorker, type WorkerShown } from '../origination/worker-reading.ts';
import { remoteDesk } from './desk-control.ts';
import type { Format } from './format.ts';
import { labelledText } from './terminal.ts';
import { type CommandWorld, vaultOf, withReader } from './world.ts';

/** Throws `not-found`, and `not-allowed` where the bid is not won. */
export async function showWorker(
  world: CommandWorld,
  { json, by, ...asked }: { requestId: string; by?: string; reason: string; json: boolean },
): Promise<void> {
  const { terminal, format, clock } = world;
  const { show, worker: texts, states } = format.texts;
  const { requestId } = asked;
  const tell = (shown: WorkerShown) => terminal.write(json ? JSON.stringify(shown) : workerText(format, shown));
  // A token says who reads, wherever the store is.
  const desk = await remoteDesk(world, { by });
  if (desk !== null) return tell(await desk.worker(requestId, asked.reason));
  if (by === undefined) throw new Fault('option-missing', format.texts.remote.nobodyNamed);
  await withReader(world, async ({ log, views, appendBeside }) => {
    const vault = await vaultOf(world, { log });
    const reading = await readWorker(
      { log, views, append: appendBeside, vault, clock },
      { ...asked, who: { by, via: 'offline' } },
    );
    switch (reading.kind) {
      case 'shown':
        return tell(reading.worker);
      case 'unknown':
        throw new Fault('not-found', show.notFound(requestId));
      case 'forgotten':
        throw new Fault('not-found', texts.forgotten(requestId));
      case 'not-won':
        throw new Fault('not-allowed', texts.notWon(requestId, states[reading.phase]));
      default:
        reading satisfies never;
    }
  });
}

function workerText(format: Format, { links, proposal, ...identity }: WorkerShown): string {
  const { labels } = format.texts.worker;
  const { cpf, name, registration, employerId } = identity;
  const own = labelledText([
    [labels.cpf, cpf],
    [labels.name, name],
    [labels.registration, registration],
    [labels.employer, employerId],
    [labels.responseId, proposal?.responseId ?? null],
    [labels.operationHash, proposal?.operationHash ?? null],
    [labels.payloadHash, proposal?.payloadHash ?? null],
  ]);
  return [own, ...links.map((link) => linkText(format, link))].join('\n\n');
}

/** What is not said has no line. */
export function linkText(format: Format, link: LinkFacts): string {
  const { none, worker } = format.texts;
  const { labels, yes, no } = worker;
  const coded = (fact: LinkFacts['sex']) => (fact === null ? null : `${fact.code} ${fact.text ?? ''}`.trimEnd());
  const money = (cents: number | null) => (cents === null ? null : format.money(cents));
  const items = (list: readonly unknown[] | null) =>
    list === null ? null : list.map((item) => JSON.stringify(item)).join('\n') || none;
  const number = (value: number | null) => (value === null ? null : String(value));
  return labelledText([
    [labels.link, format.time(link.receivedAt)],
    [labels.name, link.name],
    [labels.mother, link.motherName],
    [labels.sex, coded(link.sex)],
    [labels.birth, link.birthDate],
    [labels.nationality, coded(link.nationality)],
    [labels.exposed, coded(link.politicallyExposed)],
    [labels.registration, link.registration],
    [labels.employer, `${link.employerId} ${link.employerName ?? ''}`.trimEnd()],
    [labels.employerSince, link.employerStartDate],
    [labels.eligible, link.eligible === null ? null : link.eligible ? yes : no],
    [labels.ineligibility, coded(link.ineligibility)],
    [labels.category, number(link.workerCategoryCode)],
    [labels.occupation, coded(link.occupation)],
    [labels.activity, coded(link.activity)],
    [labels.admission, link.admissionDate],
    [labels.termination, link.terminationDate],
    [labels.terminationReason, number(link.terminationReasonCode)],
    [labels.earnings, money(link.totalEarningsCents)],
    [labels.marginBase, money(link.marginBaseCents)],
    [labels.margin, money(link.availableMarginCents)],
    [labels.activeLoans, number(link.activeLoans)],
    [labels.alerts, items(link.alerts)],
    [labels.legacyLoans, items(link.legacyLoans)],
  ]);
}
