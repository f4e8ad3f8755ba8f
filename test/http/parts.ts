/** What the tests of the door share: a log that obeys, a clock that is moved by hand, bodies that are understood. */
import assert from 'node:assert/strict';
import mappingFile from '../../config/request-mapping.json' with { type: 'json' };
import type { NewEntry } from '../../src/bidding/ports.ts';
import type { DoorReport } from '../../src/http/door.ts';
import { bodyReader, createDoor, type DoorParts } from '../../src/http/door.ts';
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { manualClock } from '../sandbox/clocks.ts';
import { createTestVault } from '../wire/vault.ts';

const read = readRequestMapping(mappingFile);
assert.equal(read.kind, 'read');
export const { mapping } = read as Extract<typeof read, { kind: 'read' }>;

/** A log in memory. `answer` decides when an append is durable. */
export function createLog(answer: () => Promise<void> = async () => {}) {
  const entries: NewEntry[] = [];
  return {
    entries,
    append: async (added: readonly NewEntry[]): Promise<void> => {
      await answer();
      entries.push(...added);
    },
  };
}

export const limits = { bodyLimitBytes: 100_000, depthLimit: 64, doorQueueLimit: 3, appendTimeoutMs: 3_000 };
export const terms = { windowMs: 30_000, halfLifeMs: 86_400_000 };

export function createTestDoor(parts: Partial<DoorParts> = {}) {
  const log = createLog();
  const clock = manualClock(1_000);
  const reports: DoorReport[] = [];
  const observer = (report: DoorReport): void => void reports.push(report);
  const readBody = bodyReader({ vault: createTestVault(), mapping, limits, terms });
  const door = createDoor({ append: log.append, readBody, clock, limits, observer, ...parts });
  return { door, log, clock, reports };
}

export const plantedCpf = '91582575436';
export const plantedName = 'Fulana Plantada';

export function requestBody(requestId: number | string, more: object = {}): Buffer {
  const request = { numeroSolicitacao: requestId, cpf: Number(plantedCpf), nomeTrabalhador: plantedName, ...more };
  return Buffer.from(JSON.stringify({ CodigoLote: 'L', Solicitacoes: [request] }));
}
