/**
 * An external source, as a rule set may ask one (NAME.source.json with the field `score`, in points): it gives each question a score of
 * its own, always the same, and misbehaves on request.
 */
import type { ServerResponse } from 'node:http';
import type { Chance, Clock } from '../domain/clock.ts';
import { chanceOf, integerIn } from './chance.ts';
import { drawFault, type SourceFault, type SourceFaults, sourceKinds } from './faults.ts';
import type { SandboxRecord } from './record.ts';

export const bureauPath = '/sandbox/bureau';

export type BureauSettings = { scoreMin: number; scoreMax: number };

export const defaultBureau: BureauSettings = { scoreMin: 300, scoreMax: 900 };

export type BureauCounts = { asked: number; faults: Record<SourceFault, number> };

export type Bureau = {
  answer: (question: string, response: ServerResponse) => void;
  /** Other scores from now on. */
  change: (settings: BureauSettings) => void;
  counts: () => BureauCounts;
};

/** Far more than anybody should read. */
const oversizedBytes = 1_000_000;

export function createBureau(options: {
  settings: BureauSettings;
  faults: SourceFaults;
  seed: string;
  clock: Clock;
  chance: Chance;
  record: SandboxRecord;
}): Bureau {
  const { faults, seed, clock, chance, record } = options;
  let { settings } = options;
  let asked = 0;
  const happened = Object.fromEntries(sourceKinds.map((kind) => [kind, 0])) as Record<SourceFault, number>;

  return {
    answer: (question, response) => {
      const { scoreMin, scoreMax } = settings;
      const score = integerIn(chanceOf(seed, 'bureau', question), scoreMin, scoreMax);
      const fault = drawFault(sourceKinds, faults, chance);
      record.write({ kind: 'question', body: question, score, fault, at: clock.now() });
      asked += 1;
      if (fault !== null) happened[fault] += 1;
      const respond = () => {
        const reply = replyTo(score, fault);
        if (reply !== null) response.writeHead(reply.status, { 'content-type': 'application/json' }).end(reply.body);
        else if (fault === 'dropped') response.socket?.destroy();
      };
      if (fault === 'slow') clock.after(faults.slowMs, respond);
      else respond();
    },
    change: (other) => {
      settings = other;
    },
    counts: () => ({ asked, faults: { ...happened } }),
  };
}

/** Null: no answer is written. */
function replyTo(score: number, fault: SourceFault | null): { status: number; body: string } | null {
  const said = { score };
  switch (fault) {
    case 'silent':
    case 'dropped':
      return null;
    case 'error':
      return { status: 500, body: JSON.stringify(said) };
    case 'malformed':
      return { status: 200, body: `{"score": ${score}` };
    case 'wrongType':
      return { status: 200, body: JSON.stringify({ score: String(score) }) };
    case 'oversized':
      return { status: 200, body: JSON.stringify({ ...said, more: ' '.repeat(oversizedBytes) }) };
    case 'slow':
    case null:
      return { status: 200, body: JSON.stringify(said) };
    default:
      return fault satisfies never;
  }
}
