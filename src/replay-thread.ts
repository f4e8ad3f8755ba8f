/**
 * The thread that replays the candidate of an impact while the main one has the current set, put together here because it has to
 * know the vault: it reads its part of the file, too.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { createVault } from './adapters/vault/vault.ts';
import { readPiece } from './cli/case-file.ts';
import type { ReplayAnswer, ReplayQuestion, ReplayTask } from './cli/replay-apart.ts';
import type { Apart } from './impact/desk-replay.ts';
import { inOrder } from './impact/impact.ts';
import type { RecordedCase } from './impact/recorded-cases.ts';
import { type Replayed, replaySets } from './impact/replay-sets.ts';
import { policyOf } from './policy.ts';

function serve(port: MessagePort, { model, files, mapping, pseudonymKey }: ReplayTask): void {
  const reading = { mapping, vault: createVault(pseudonymKey), settings: model.bidding };
  const policy = policyOf(model, files);
  const pieces: (readonly RecordedCase[])[] = [];
  const tell = (answer: ReplayAnswer) => port.postMessage(answer);

  async function replay(apart: Apart): Promise<Replayed> {
    const { ordered } = inOrder(pieces.flat());
    const [replayed] = await replaySets(ordered, [{ policy, shares: false, apart }], model.bidding, () => undefined);
    return replayed!;
  }

  port.on('message', async (question: ReplayQuestion) => {
    if (question.kind === 'replay') {
      tell({ kind: 'replayed', replayed: await replay(question.apart) });
      return;
    }
    const { place } = question;
    if (question.kind === 'take') {
      pieces[place] = question.cases;
      return;
    }
    const piece = readPiece(question.text, reading);
    pieces[place] = piece.cases;
    tell({ kind: 'read', place, piece });
  });
}

if (parentPort !== null) serve(parentPort, workerData as ReplayTask);
