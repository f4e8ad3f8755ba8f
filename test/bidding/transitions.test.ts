/** The fold against the transition table: nothing happens that the table does not say, in whatever order records come. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { evolve, viewChanges } from '../../src/bidding/evolve.ts';
import { resultsKey } from '../../src/bidding/ledger-facts.ts';
import { alarmsOf, lostAnswer, restoredPass } from '../../src/bidding/react.ts';
import { transitions } from '../../src/bidding/transitions.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import { phases, type RequestState } from '../../src/domain/states.ts';
import { windows } from '../../src/pricing/trial.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import {
  accepted,
  answered,
  at,
  bid,
  claimed,
  contemplated,
  deadlineAt,
  duplicate,
  ended,
  folded,
  offer,
  outside,
  passed,
  proposed,
  rejected,
  requested,
  requestId,
  resolved,
  settings,
  trace,
  unknown,
  unread,
} from './parts.ts';
import {
  after,
  answers,
  history,
  isUnseen,
  meaningOf,
  rival,
  type Standing,
  settlementOf,
  standingOf,
  steps,
  strength,
  triggerOf,
} from './table-oracle.ts';
import { closingMark, openingMark, transitionTable } from './transition-table.ts';

test('phase, exposure and timer follow the table, and the table alone', () => {
  fc.assert(
    fc.property(history, (records) => {
      for (const { before, record, state } of steps(records)) {
        assert.ok(phases.includes(state.phase));
        // A stray record before the first one of the table leaves a request that was never announced.
        const start: Standing =
          before === null || isUnseen(before) ? { phase: 'unseen', exposure: 'none', timer: null } : standingOf(before);
        const moved = after(start, triggerOf(before, record));
        const expected = after(moved, settlementOf(moved, state));
        if (expected.phase === 'unseen') expected.phase = 'requested';
        assert.deepEqual(standingOf(state), expected);
      }
    }),
    { numRuns: 3_000 },
  );
});

type Word = { kind?: string; requestCode: string; errors: readonly string[]; toldAgainAt?: number };

/** The errors of winner events that a state keeps: those that stand against the win, and those that were contradicted. */
function errorsKept({ winner, resolution }: RequestState): { open: Word[]; contradicted: Word[] } {
  const told = winner === null || winner.errors.length === 0 ? [] : [winner];
  const open = [...told, ...(winner?.laterErrors ?? []), ...(resolution?.laterErrors ?? [])];
  return { open, contradicted: [...(resolution?.contradicts ?? []), ...(winner?.contradicts ?? [])] };
}

/** Without what an error that changes nothing leaves. */
function withoutErrorsKept({ winner, resolution, ...state }: RequestState) {
  const without = <T extends Pick<NonNullable<RequestState['winner']>, 'contradicts' | 'laterErrors'>>(said: T) => {
    const { laterErrors: _, contradicts = [], ...rest } = said;
    return { ...rest, contradicts: contradicts.map(({ toldAgainAt: _, ...error }) => error) };
  };
  return { ...state, winner: winner && without(winner), resolution: resolution && without(resolution) };
}

test('a pair that is not in the table changes nothing but counters and what is known of the auction', () => {
  fc.assert(
    fc.property(history, (records) => {
      for (const { before, record, state } of steps(records)) {
        if (before === null) continue;
        const trigger = triggerOf(before, record);
        const phase = isUnseen(before) ? 'unseen' : before.phase;
        if (trigger !== null && transitions[phase][trigger] !== undefined) continue;
        // Its code may settle what the list left open.
        const settlement = settlementOf(standingOf(before), state);
        if (settlement !== null && transitions[phase][settlement] !== undefined) continue;
        const receipts = {
          repeats: state.repeats,
          conflicts: state.conflicts,
          lateClaims: state.lateClaims,
          request: state.request,
          sealed: state.sealed,
          rawHash: state.rawHash,
          batchId: state.batchId,
          auction: state.auction,
          // Events come under each of them.
          ...(state.codes === undefined ? {} : { codes: state.codes }),
        };
        assert.deepEqual(withoutErrorsKept({ ...before, ...receipts }), withoutErrorsKept(state));
        const isError = 'errors' in record && record.errors.length > 0;
        if (!isError) assert.deepEqual({ ...before, ...receipts }, state);
        // Whoever looks finds it, whatever it changed.
        else if (phase === 'winner-failed' || phase === 'cancelled' || (trigger === null && before.winner !== null)) {
          const { open, contradicted } = errorsKept(state);
          const isIt = ({ kind = record.kind, errors }: Word) => kind === record.kind && errors[0] === record.errors[0];
          const isToldAgain = contradicted.some((each) => isIt(each) && each.toldAgainAt === record.at);
          assert.ok(isToldAgain || open.some(isIt), `${record.kind} in ${phase}`);
        }
        assert.equal(record.kind === 'claimed', state.lateClaims === before.lateClaims + 1);
        if (record.kind !== 'requested') assert.equal(state.request, before.request);
        else assert.ok(before.request === null || state.request!.receivedAt <= before.request.receivedAt);
        if (record.kind !== 'ended') assert.deepEqual(state.auction, before.auction);
      }
    }),
    { numRuns: 3_000 },
  );
});

test('an equal record folded again changes nothing but counters', () => {
  const counted = ({ repeats: _r, conflicts: _c, lateClaims: _l, ...rest }: RequestState) => rest;
  fc.assert(
    fc.property(history, (records) => {
      for (const { record, state } of steps(records)) {
        const again = evolve(state, record, settings);
        assert.deepEqual(counted(again), counted(state));
        const promised = viewChanges(state, again, record, settings).filter(({ kind }) => kind !== 'commit');
        assert.deepEqual(promised, []);
      }
    }),
    { numRuns: 2_000 },
  );
});

test('answers merge by rank, in whatever order they come', () => {
  // Accepted and accepted outside exclude each other: the service takes a bid in once.
  for (const landed of [accepted, outside]) {
    const pool = answers.filter(({ outcome }) => !outcome.kind.startsWith('accepted') || outcome.kind === landed.kind);
    fc.assert(
      fc.property(
        fc
          .uniqueArray(fc.constantFrom(...pool), { minLength: 1, maxLength: 6 })
          .chain((drawn) => fc.tuple(fc.constant(drawn), fc.shuffledSubarray(drawn, { minLength: drawn.length }))),
        ([one, other]) => {
          const ends = [one, other].map((order) => folded(requested(), claimed(), ...order));
          assert.deepEqual(standingOf(ends[0]!), standingOf(ends[1]!));
          assert.deepEqual(ends[0]!.timer, ends[1]!.timer);
          const best = one.map(meaningOf).sort((a, b) => strength[b] - strength[a])[0]!;
          assert.equal(ends[0]!.phase, transitions.claimed[best]!.to);
        },
      ),
    );
  }
});

test('a rejection says nothing of the attempt of another owner, whichever of the two comes first', () => {
  const others = [
    [answered(duplicate, true), 'accepted-presumed'],
    [answered(unknown, true), 'unknown'],
    [answered(duplicate), 'foreign-bid'],
  ] as const;
  for (const [other, phase] of others) {
    for (const order of [
      [answered(rejected), other],
      [other, answered(rejected)],
    ]) {
      const state = folded(requested(), claimed(), ...order);
      assert.deepEqual([state.phase, state.exposure], [phase, 'held']);
    }
  }
  const lost = [answered(duplicate, true), answered(rejected), ended([bid('ours', { position: 2 }), rival])];
  assert.equal(folded(requested(), claimed(), ...lost).phase, 'lost');
});

test('a rejection after an attempt that may have landed proves nothing', () => {
  const state = folded(requested(), claimed(), answered(rejected, true));
  assert.equal(state.phase, 'unknown');
  assert.equal(state.exposure, 'held');
  assert.match((state.answer!.outcome as { reason: string }).reason, /request-expired/);
  assert.equal(folded(requested(), claimed(), answered(rejected)).exposure, 'released');
});

test('a request is bid for when a copy of it can be read, whichever came first; others have ended it for good', () => {
  const plain = folded(requested());
  assert.deepEqual(folded(unread(), requested()), plain);
  assert.deepEqual(folded(requested(), unread()), plain);
  assert.deepEqual(folded(unread(), requested(), unread()), plain);
  assert.equal(folded(unread(), requested(), claimed()).phase, 'claimed');
  assert.equal(folded(unread(), unread()).phase, 'passed');
  assert.equal(folded(unread(), requested(), passed(null)).pass?.code, 'deadline');
  const unmarked = folded(passed(null, 'request-unusable'), requested());
  assert.deepEqual([unmarked.phase, unmarked.pass?.code], ['passed', 'request-unusable']);
  const afterEnd = folded(ended([]), unread(), requested());
  assert.deepEqual(afterEnd, folded(ended([]), requested()));
});

test('the first claim in log order is the claim', () => {
  const state = folded(requested(), claimed('b:7'), claimed('a:1'), claimed('b:8'));
  assert.equal(state.claim!.claimId, 'b:7');
  assert.equal(state.claim!.body, 'bytes of b:7');
  assert.equal(state.lateClaims, 2);
  fc.assert(
    fc.property(history, (records) => {
      let first: string | null = null;
      for (const { state } of steps(records)) {
        if (first !== null) assert.equal(state.claim?.claimId, first);
        first = state.claim?.claimId ?? null;
      }
    }),
  );
});

test("a pass never ends somebody else's claim", () => {
  for (const claimId of [null, 'b:1']) {
    const state = folded(requested(), claimed('a:1'), passed(claimId));
    assert.equal(state.phase, 'claimed');
    assert.equal(state.pass, null);
  }
  const own = folded(requested(), claimed('a:1'), passed('a:1'));
  assert.deepEqual(standingOf(own), { phase: 'passed', exposure: 'released', timer: null });
});

test('ended before requested: the result is kept, and the request passes later on', () => {
  const early = folded(ended([rival]));
  assert.equal(early.phase, 'early-ended');
  assert.equal(early.auction!.bestRivalCell, 240);
  const late = folded(ended([rival]), requested());
  assert.equal(late.phase, 'requested');
  assert.equal(late.auction!.bestRivalCell, 240);
});

test('only the result of a request that was received teaches the statistics', () => {
  const result = ended([rival]);
  const lessons = (...records: AuctionRecord[]) => {
    const before = records.length === 0 ? null : folded(...records);
    return viewChanges(before, folded(...records, result), result, settings).filter(({ kind }) => kind === 'learn');
  };
  assert.deepEqual(lessons(), []);
  // A pass for a request that nobody could read, and a copy of the result, make it no better known.
  assert.deepEqual(lessons(unread()), []);
  assert.deepEqual(lessons(ended([rival])), []);
  // The price of a result that came first is not taken up later either.
  const late = viewChanges(folded(result), folded(result, requested()), requested(), settings);
  assert.deepEqual(late, []);
  assert.deepEqual(lessons(ended([rival]), requested()), []);
  assert.ok(lessons(requested()).length > 0);
  assert.ok(lessons(requested(), passed(null)).length > 0);
  assert.ok(lessons(requested(), claimed()).length > 0);
});

test('ended while sending: the answer settles it, whichever comes first', () => {
  const open = folded(requested(), claimed(), ended([bid('ours'), bid('rival', { rateHundredths: 260, position: 2 })]));
  assert.equal(open.phase, 'claimed');
  const won = evolve(open, answered(accepted), settings);
  assert.equal(won.phase, 'won');
  assert.equal(won.auction!.position, 1);
  assert.equal(won.exposure, 'committed');
  const lost = folded(requested(), claimed(), ended([rival, bid('ours', { position: 2 })]), answered(accepted));
  assert.equal(lost.phase, 'lost');
  assert.equal(lost.exposure, 'released');
});

test('a claim whose deadline passed is unknown until the end of the auction tells', () => {
  const claim = [requested(), claimed(), answered(unknown, true)] as const;
  assert.deepEqual(folded(...claim).timer, { at: deadlineAt + settings.resultTimeoutMs, due: 'result' });
  assert.equal(folded(...claim, ended([bid('ours')])).phase, 'won');
  const absent = folded(...claim, ended([rival]));
  assert.equal(absent.phase, 'not-landed');
  assert.equal(absent.exposure, 'held');
  assert.equal(absent.timer!.due, 'validity');
  // Presumed ours and not among the published ones: the other bid was somebody else's after all.
  const presumed = folded(requested(), claimed(), answered(duplicate, true), ended([rival]));
  assert.deepEqual(standingOf(presumed), { phase: 'foreign-bid', exposure: 'released', timer: null });
});

test('contemplated before its bid was named, or against what was settled', () => {
  const unnamed = folded(requested(), claimed(), answered(unknown, true), contemplated());
  assert.deepEqual(standingOf(unnamed), { phase: 'contemplated', exposure: 'committed', timer: 'validity' });
  const lost = folded(requested(), claimed(), answered(accepted), ended([rival, bid('ours', { position: 2 })]));
  assert.equal(lost.phase, 'lost');
  assert.equal(evolve(lost, contemplated(), settings).exposure, 'committed');
  const failed = folded(requested(), claimed(), answered(accepted), ended([bid('ours')]), contemplated(['refused']));
  assert.deepEqual(standingOf(failed), { phase: 'winner-failed', exposure: 'released', timer: null });
  // A person has seen that the error was wrong.
  const said = evolve(failed, resolved('contemplated'), settings);
  assert.deepEqual(standingOf(said), { phase: 'contemplated', exposure: 'committed', timer: 'validity' });
  // Delivered again, it is the error that was wrong, whatever was told since; another one is news.
  for (const state of [said, evolve(said, proposed(), settings), evolve(said, resolved('contemplated'), settings)])
    for (const again of [contemplated(['refused']), proposed(['refused'])])
      assert.equal(evolve(state, again, settings).exposure, 'committed');
  const failedAnew = evolve(said, proposed(['late']), settings);
  assert.deepEqual(standingOf(failedAnew), { phase: 'winner-failed', exposure: 'released', timer: null });
  const saidAnew = evolve(failedAnew, resolved('contemplated'), settings);
  for (const again of [contemplated(['refused']), proposed(['late'])])
    assert.equal(evolve(saidAnew, again, settings).exposure, 'committed');
  // Two errors had come before anybody looked.
  const failedTwice = evolve(evolve(failedAnew, proposed(['other']), settings), proposed(['late']), settings);
  const saidOfBoth = evolve(failedTwice, resolved('contemplated'), settings);
  assert.equal(evolve(saidOfBoth, proposed(['other']), settings).exposure, 'committed');
});

/** Where a bid that has won stands after these. */
function afterWin(...records: AuctionRecord[]): readonly [string, string] {
  const { phase, exposure } = folded(requested(), claimed(), answered(accepted), ended([bid('ours')]), ...records);
  return [phase, exposure];
}

const included = ['proposed', 'committed'];
const failed = ['winner-failed', 'released'];

test('an error that was told before the service included the proposal is no news when it comes again', () => {
  const errors = [contemplated(), proposed(['refused']), contemplated(['late'])];
  assert.deepEqual(afterWin(...errors, proposed()), included);
  for (const again of [proposed(['refused']), contemplated(['late'])]) {
    assert.deepEqual(afterWin(...errors, proposed(), again), included);
    assert.deepEqual(afterWin(...errors, proposed(), proposed(), again, again), included);
  }
  // Another error is news, and so is the same text of the other step; once each is contradicted as well, none is.
  for (const another of [proposed(['closed']), proposed(['late']), contemplated(['refused'])]) {
    const anew = [...errors, proposed(), another];
    assert.deepEqual(afterWin(...anew), failed);
    for (const evidence of [proposed([], at + 500_000_000), resolved('contemplated')])
      for (const again of [proposed(['refused']), contemplated(['late']), another])
        assert.equal(afterWin(...anew, evidence, again)[1], 'committed');
  }
});

test('an error that came after the proposal is told again, and the old proposal with it, all the same', () => {
  const [error, later] = [proposed(['refused']), contemplated(['late'])];
  assert.deepEqual(afterWin(proposed(), error, proposed(), error), failed);
  assert.deepEqual(afterWin(proposed(), error, proposed(), error, proposed(), error), failed);
  assert.deepEqual(afterWin(contemplated(), proposed(), error, later, proposed(), later), failed);
  assert.deepEqual(afterWin(proposed(), resolved('cancelled'), error, proposed(), error), failed);
  assert.deepEqual(afterWin(proposed(), resolved('expired'), error, proposed(), error), failed);
  // One of several that were told before, or one that names nothing.
  const other = proposed([], at + 500_000_000);
  assert.deepEqual(afterWin(proposed(), other, error, proposed(), error), failed);
  const bare = { ...proposed(), proposalCode: null, proposalNumber: null, validUntil: null };
  assert.deepEqual(afterWin(bare, resolved('cancelled'), error, bare, error), failed);
  // A new one contradicts all that came before it, whatever was told again in between.
  for (const proposal of [other, { ...proposed(), proposalNumber: '78' }, { ...proposed(), proposalCode: null }]) {
    assert.deepEqual(afterWin(proposed(), error, proposal, error), included);
    assert.deepEqual(afterWin(proposed(), error, proposed(), proposal, error), included);
    assert.deepEqual(afterWin(proposed(), error, proposed(), later, proposal, error, later), included);
  }
  assert.deepEqual(afterWin(contemplated(), error, bare, error), included);
});

test('an error that was told of a cancelled bid is no news once its win is told or said', () => {
  const [cancelled, error] = [resolved('cancelled'), proposed(['refused'])];
  for (const before of [
    [cancelled, error],
    [contemplated(), cancelled, error],
  ]) {
    assert.deepEqual(afterWin(...before), ['cancelled', 'released']);
    // Won is not contemplated: what the error says of the win may still be so. It is contradicted when more is told or said.
    const words = [[], [resolved('won')], [resolved('lost')], [resolved('lost'), contemplated()]];
    for (const said of [...words, [resolved('won'), contemplated()], [resolved('won'), cancelled]]) {
      for (const evidence of [proposed(), resolved('contemplated')]) {
        const told = [...before, ...said, evidence];
        const standing = afterWin(...told);
        assert.equal(standing[1], 'committed');
        assert.deepEqual(afterWin(...told, error, error), standing);
        assert.deepEqual(afterWin(...told, proposed(['late'])), failed);
      }
    }
    for (const said of [resolved('won'), resolved('lost')]) assert.deepEqual(afterWin(...before, said, error), failed);
  }
});

test('as many errors are kept while a win has failed as are contradicted, and the state grows no more', () => {
  const errors = Array.from({ length: 250 }, (_, index) => proposed([`error ${index}`]));
  const won = folded(requested(), claimed(), answered(accepted));
  const afterAll = (state: RequestState, told: readonly AuctionRecord[]) =>
    told.reduce((each, record) => evolve(each, record, settings), state);
  for (const before of [[], [resolved('cancelled')]]) {
    for (const evidence of [proposed(), resolved('contemplated')]) {
      const standing = afterAll(won, [...before, ...errors.slice(0, 100), evidence]);
      for (const again of errors.slice(0, 100)) assert.equal(evolve(standing, again, settings).exposure, 'committed');
      for (const said of [[], [resolved('cancelled')]]) {
        const { open, contradicted } = errorsKept(afterAll(standing, [...said, ...errors]));
        // The one of the win itself may be among those that were contradicted.
        assert.ok(open.length >= 100 && open.length <= 101 && contradicted.length === 100);
      }
    }
  }
  const proposals = errors.map((_, index) => ({ ...proposed(), proposalNumber: `${index}` }));
  const many = [...steps([requested(), claimed(), answered(accepted), ...proposals])].at(-1)!.state;
  assert.equal(many.winner?.earlierProposals?.length, 100);
});

/** As the version before wrote it, which knew neither kinds nor proposals that are told again. */
function asBefore({ winner, resolution, ...state }: RequestState): RequestState {
  const plain = ({ requestCode, errors }: Word) => ({ requestCode, errors });
  const words = (list: readonly Word[] | undefined) => (list === undefined ? [] : list.map(plain));
  const { earlierProposals: _, kind: __, contradicts: ___, laterErrors, ...won } = winner ?? ({} as never);
  const { laterErrors: ____, contradicts, ...said } = resolution ?? ({} as never);
  const stored = {
    ...state,
    winner: winner && { ...won, ...(laterErrors && { laterErrors: words(laterErrors) }) },
    resolution: resolution && { ...said, ...(contradicts && { contradicts: words(contradicts) }) },
  };
  return JSON.parse(JSON.stringify(stored)) as RequestState;
}

test('what an earlier version stored folds on, and holds the money where it does not say what the error was', () => {
  const won = [requested(), claimed(), answered(accepted), ended([bid('ours')])];
  const exposureAfter = (stored: AuctionRecord[], ...then: AuctionRecord[]) => {
    let state = asBefore(folded(...won, ...stored));
    for (const record of then) state = evolve(state, record, settings);
    return state.exposure;
  };
  const error = proposed(['refused']);
  // Said to be wrong: of which step it was nobody knows any more.
  for (const again of [error, contemplated(['refused'])])
    assert.equal(exposureAfter([error, resolved('contemplated')], again), 'committed');
  // The proposal that was told before the error is not known any more, so it may be new.
  assert.equal(exposureAfter([proposed(), error], proposed(), error), 'committed');
  assert.equal(exposureAfter([error, contemplated(['late'])], proposed(), error, contemplated(['late'])), 'committed');
  assert.equal(exposureAfter([error], proposed(), contemplated(['refused'])), 'committed');
  // The proposal itself is known where it was told last.
  assert.equal(exposureAfter([proposed()], error, proposed(), error), 'released');
  fc.assert(
    fc.property(history, fc.nat(12), (records, index) => {
      let state: RequestState | null = null;
      for (const [at, record] of records.entries()) {
        if (at === index && state !== null) state = asBefore(state);
        state = evolve(state, record, settings);
        assert.ok(phases.includes(state.phase));
      }
    }),
    { numRuns: 2_000 },
  );
});

test('called unsent, and among the published bids all the same', () => {
  const unsent = [requested(), claimed(), { ...passed('a:1'), maybeSent: true as const }] as const;
  assert.deepEqual(standingOf(folded(...unsent, ended([bid('ours')]))), {
    phase: 'won',
    exposure: 'committed',
    timer: 'contemplation',
  });
  assert.equal(folded(...unsent, ended([rival, bid('ours', { position: 2 })])).phase, 'lost');
  assert.equal(folded(...unsent, ended([bid('one'), bid('two')])).exposure, 'held');
  assert.equal(folded(...unsent, ended([rival])).phase, 'passed');
});

test('a claim that was lost with its log counts as it was offered, and the published bids settle it', () => {
  const { caps } = trace;
  const answer = lostAnswer(requestId, { claimId: 'a:1', at: at + 2, offer, caps }, deadlineAt + 100);
  const pass = restoredPass(requestId, deadlineAt + 100);
  const found = folded(pass, answer);
  assert.deepEqual(standingOf(found), { phase: 'unknown', exposure: 'held', timer: 'result' });
  const reserved = viewChanges(folded(pass), found, answer, settings).find(({ kind }) => kind === 'reserve');
  assert.ok(reserved?.kind === 'reserve' && reserved.amountCents === offer.amountCents && reserved.force);
  assert.ok(reserved.caps.some(({ keys }) => keys.includes('day|2026-11-20')));
  assert.equal(folded(pass, answer, ended([rival, bid('ours', { position: 2 })])).phase, 'lost');
  const won = folded(pass, answer, ended([bid('ours')]));
  assert.deepEqual([won.phase, won.exposure, won.auction?.position], ['won', 'committed', 1]);
  assert.equal(folded(pass, answer, ended([rival])).phase, 'not-landed');
  assert.equal(folded(requested(), pass, lostAnswer(requestId, null, at + 9)).claim?.offer.amountCents, 650_000);
});

test('a pass that may have been sent is won by a winner event or a person, with what was published of it', () => {
  const pass = restoredPass(requestId, at + 9);
  const published = ended([bid('first', { amountCents: 500_000 }), bid('ours', { position: 2 })]);
  const named = folded(requested(), pass, published, contemplated());
  assert.deepEqual(standingOf(named), { phase: 'contemplated', exposure: 'committed', timer: 'validity' });
  assert.deepEqual([named.claim?.offer.amountCents, named.auction?.position], [650_000, 2]);
  assert.equal(named.winner?.requestCode, 'ours');
  assert.deepEqual(alarmsOf(folded(requested(), pass, published), named), ['win-after-loss']);
  const changes = viewChanges(folded(requested(), pass, published), named, contemplated(), settings);
  assert.deepEqual(changes.map(({ kind }) => kind).slice(0, 2), ['reserve', 'commit']);
  const said = folded(requested(), pass, published, resolved('won'));
  assert.deepEqual([said.phase, said.exposure, said.claim?.offer.amountCents], ['won', 'committed', 500_000]);
  const untold = folded(requested(), pass, resolved('contemplated'));
  assert.deepEqual([untold.exposure, untold.claim?.offer.amountCents], ['committed', 650_000]);
  assert.equal(folded(requested(), pass, resolved('lost')).exposure, 'none');
  // What the only process has not sent is nobody's bid.
  const unsent = folded(requested(), passed(null), published);
  assert.equal(evolve(unsent, contemplated(), settings).phase, 'passed');
  assert.equal(evolve(unsent, resolved('won'), settings).phase, 'passed');
});

test('surely unsent, and a rival that bid the very same', () => {
  const state = folded(requested(), claimed(), passed('a:1', 'cap'), ended([bid('twin')]));
  assert.deepEqual(standingOf(state), { phase: 'passed', exposure: 'released', timer: null });
  assert.equal(state.auction!.bestRivalCell, 250, 'the twin is a rival like any other');
  assert.deepEqual(state.auction!.candidates, []);
});

test('of two lists of one auction the first counts, and the money follows the worse until a person or the winner event decides', () => {
  const won = ended([bid('ours'), rival]);
  const lost = ended([bid('ours', { position: 2 }), rival]);
  const other = ended([rival]);
  const bidFor = [requested(), claimed()];
  const told = (...records: readonly AuctionRecord[]) => {
    const { phase, exposure, timer } = standingOf(folded(...bidFor, ...records));
    return `${phase} ${exposure} ${timer}`;
  };
  const ambiguous = 'ambiguous held contemplation';
  const won1 = 'won committed contemplation';
  const ours = answered(accepted);
  assert.equal(told(ours, lost), 'lost released null');
  assert.equal(told(ours, lost, won), ambiguous);
  assert.equal(told(ours, won, lost), won1);
  assert.equal(told(ours, won, other), won1);
  // In whatever order the answer comes, and a list that is delivered again says nothing new.
  assert.equal(told(lost, won, ours), ambiguous);
  assert.equal(told(lost, ours, won), ambiguous);
  assert.equal(told(won, lost, ours), won1);
  assert.equal(told(ours, lost, { ...lost, bids: [...lost.bids].reverse() }), 'lost released null');
  assert.equal(told(ours, lost, won, lost, won), ambiguous);
  assert.equal(told(ours, lost, won, other), ambiguous);
  // Lists about rivals alone.
  assert.equal(told(ours, lost, ended([bid('ours', { position: 2 })])), 'lost released null');
  // Of bids that counted for less: refused under a code, taken for another's, not found.
  assert.equal(told(answered({ kind: 'rejected', code: 'request-expired', names: ['ours'] }), other, won), ambiguous);
  assert.equal(told(answered(rejected), other, won), 'rejected released null');
  assert.equal(told(answered(duplicate), other), 'foreign-bid released null');
  assert.equal(told(answered(duplicate), other, won), ambiguous);
  assert.equal(told(answered(unknown), other, won), ambiguous);
  assert.equal(told(ours, other), 'result-missing held validity');
  assert.equal(told(ours, other, won), ambiguous);
  assert.equal(told({ ...passed('a:1'), maybeSent: true }, other, won), ambiguous);
  assert.equal(told({ ...passed('a:1'), maybeSent: true }, lost, won), ambiguous);
  assert.equal(told(passed('a:1'), other, won), 'passed released null');
  // Somebody decides: no list that came before, and no repetition of it, has a say any more.
  assert.equal(told(ours, lost, won, resolved('lost')), 'lost released null');
  assert.equal(told(ours, lost, won, resolved('lost'), won, lost), 'lost released null');
  assert.equal(told(ours, lost, won, resolved('not-landed'), won), 'not-landed released null');
  assert.equal(told(ours, lost, won, resolved('won')), won1);
  const over = [resolved('not-landed'), resolved('expired')];
  assert.equal(told(answered(unknown), ended([bid('ours'), bid('twin'), rival]), ...over), 'not-landed released null');
  assert.equal(told(ours, lost, won, ...over), 'not-landed released null');
  assert.equal(told(ours, lost, won, contemplated()), 'contemplated committed validity');
  assert.equal(told(ours, won, lost, resolved('lost')), 'lost released null');
  // The views count it again, once, and nothing is learnt of the second list.
  const before = folded(...bidFor, ours, lost);
  const after = evolve(before, won, settings);
  assert.deepEqual(
    viewChanges(before, after, won, settings).map(({ kind }) => kind),
    ['reserve'],
  );
  assert.deepEqual(viewChanges(after, evolve(after, won, settings), won, settings), []);
});

test('several bids that may be ours stay ambiguous until the winner is told', () => {
  const twins = [bid('one'), bid('two', { position: 2 })];
  const state = folded(requested(), claimed(), answered(duplicate, true), ended(twins));
  assert.equal(state.phase, 'ambiguous');
  assert.equal(state.auction!.bestRivalCell, 250);
  assert.equal(evolve(state, contemplated(), settings).phase, 'contemplated');
});

test('only a win of ours that is taken, or that nobody took in all its validity, teaches acceptance', () => {
  const taught = (...records: readonly AuctionRecord[]) =>
    [...steps(records)].flatMap(({ before, record, state }) =>
      viewChanges(before, state, record, settings).flatMap((change) =>
        change.kind === 'learn' && change.keys[0]!.startsWith('acceptance:') ? change.keys : [],
      ),
    );
  const won = [requested(), claimed(), answered(accepted), ended([bid('ours')])] as const;
  const lost = [requested(), claimed(), answered(accepted), ended([rival, bid('ours', { position: 2 })])] as const;
  const expired = resolved('expired');
  assert.deepEqual(taught(...won), []);
  assert.deepEqual(taught(...won, contemplated(), contemplated()), ['acceptance:taken']);
  assert.deepEqual(taught(...won, expired, contemplated()), ['acceptance:declined']);
  assert.deepEqual(taught(...lost, expired), []);
  assert.deepEqual(taught(...won, expired, answered(accepted), expired), ['acceptance:declined']);
  assert.deepEqual(taught(requested(), ended([rival])), []);
});

test('what we won with is learnt with the result, and nothing where we lost', () => {
  const additive = { layout: 'one', levels: [0], locations: [250, 250, 250] };
  const trial = { breakEvens: [], rates: [], scale: 0, additive };
  const plain = claimed();
  const tried = { ...plain, trace: { ...plain.trace, trial } };
  const won = (bids: Parameters<typeof ended>[0]) =>
    [...steps([requested(), tried, answered(accepted), ended(bids)])].flatMap(({ before, record, state }) =>
      viewChanges(before, state, record, settings).flatMap((change) =>
        change.kind === 'learn' && change.keys[0]!.endsWith(':won') ? [change.additions] : [],
      ),
    );
  const { rateHundredths } = tried.offer;
  const lesson = [
    [0, rateHundredths],
    [1, 1],
  ];
  assert.deepEqual(won([bid('ours'), { ...rival, position: 2 }]), [lesson]);
  assert.deepEqual(won([bid('ours')]), [lesson]);
  assert.deepEqual(won([rival, bid('ours', { position: 2 })]), []);
});

test('the deadline counts from the first receipt ever', () => {
  const earlier = requested({ request: { ...sampleRequest, receivedAt: at - 400 } });
  assert.equal(folded(requested(), earlier).request!.receivedAt, at - 400);
  assert.equal(folded(earlier, requested()).request!.receivedAt, at - 400);
});

test('views: a promise is reserved before it is released or committed, and an auction is learnt once', () => {
  fc.assert(
    fc.property(history, (records) => {
      let promised = false;
      let learnt = 0;
      let answers = 0;
      for (const { before, record, state } of steps(records)) {
        for (const change of viewChanges(before, state, record, settings)) {
          if (change.kind === 'reserve') {
            promised = true;
            // Only the claim itself may be refused for want of room.
            assert.equal(change.force, record.kind !== 'claimed');
          } else if (change.kind === 'release') {
            assert.ok(promised, 'released without a reservation');
            promised = false;
          } else if (change.kind === 'commit') assert.ok(promised, 'committed without a reservation');
          else if (change.kind === 'learn' && change.keys[0]!.startsWith('acceptance:')) {
            answers += 1;
            assert.ok(
              state.claim !== null && change.additions[0]?.[0] === state.claim.offer.rateHundredths,
              'learnt of a bid of ours',
            );
          } else if (change.kind === 'learn' && change.keys[0] !== resultsKey) learnt += 1;
        }
        assert.ok(answers <= 1, 'a worker answers once');
        if (state.claim !== null) assert.equal(promised, state.exposure === 'held' || state.exposure === 'committed');
      }
      const first = (kind: AuctionRecord['kind']) => records.findIndex((record) => record.kind === kind);
      const isReceivedFirst = first('requested') !== -1 && first('requested') < first('ended');
      assert.equal(learnt, isReceivedFirst ? windows.length : 0);
    }),
    { numRuns: 3_000 },
  );
});

test('a refusal whose claim nobody could read releases nothing, for nothing was reserved', () => {
  const history = [
    requested(),
    answered(rejected),
    ended([{ ...rival, bidId: 'ours', position: 2 }, rival]),
    answered(accepted, true),
  ];
  const changes = [...steps(history)].flatMap(({ before, record, state }) =>
    viewChanges(before, state, record, settings),
  );
  assert.deepEqual(
    changes.filter(({ kind }) => kind === 'release'),
    [],
  );
});

test('docs/states.md holds the transition table as it is', () => {
  const path = new URL('../../docs/states.md', import.meta.url);
  const text = readFileSync(path, 'utf8');
  const [start, end] = [text.indexOf(openingMark), text.indexOf(closingMark)];
  assert.ok(start >= 0 && end > start, `docs/states.md needs the marks ${openingMark} and ${closingMark}`);
  const block = `${openingMark}\n\n${transitionTable()}\n\n`;
  if (process.env.UPDATE === '1') writeFileSync(path, text.slice(0, start) + block + text.slice(end));
  else assert.equal(text.slice(start, end), block, 'run this test with UPDATE=1 and commit what it writes');
});
