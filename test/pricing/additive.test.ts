/** What the features of requests teach: effects, errors, and curves tailored by them. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { lessonsOf, statisticKeysOf } from '../../src/bidding/learning.ts';
import { cellCount, noRivalCell } from '../../src/domain/glossary.ts';
import { emptyHistogram, foldSums, type Histogram } from '../../src/domain/histogram.ts';
import type { Trial } from '../../src/domain/offer.ts';
import { chanceOf } from '../../src/impact/chance.ts';
import { breakEvensOf, createLearner } from '../../src/impact/learn.ts';
import {
  additiveReadings,
  effectsOf,
  type Layout,
  momentAdditions,
  momentStatistics,
} from '../../src/pricing/additive.ts';
import { scoreTrial } from '../../src/pricing/trial.ts';
import { createShared, curveOf, decodeShapes, encodeShapes, mixTailored, tailor } from '../../src/pricing/win-curve.ts';
import { factsOf } from '../../src/rules/facts-of.ts';
import { featureLevels, requestFeatures } from '../../src/rules/features.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import { settings } from './setting.ts';

const layout: Layout = { name: 'two', columns: 5 };
/** Effects of two features, one of two levels and one of three. */
const effects = [-30, 30, 0, 25, -25];

function levelsOf(chance: () => number): number[] {
  return [Math.floor(2 * chance()), 2 + Math.floor(3 * chance())];
}

function taught(results: number): { learner: ReturnType<typeof createLearner>; statistics: Map<string, Histogram> } {
  const chance = chanceOf(7);
  const statistics = new Map<string, Histogram>();
  const breakEvens = breakEvensOf(
    [
      { bestRivalCell: 200, bestRivalOffGrid: false },
      { bestRivalCell: 300, bestRivalOffGrid: false },
    ],
    'mid',
    41,
  );
  const learner = createLearner(settings.winCurve, breakEvens, { statistics });
  for (let result = 0; result < results; result += 1) {
    const levels = levelsOf(chance);
    const { trial } = learner.decide(['all'], { layout, levels }, createShared());
    const bestRivalCell = 250 + Math.round(levels.reduce((sum, level) => sum + effects[level]!, 10 * (chance() - 0.5)));
    learner.learn({ bestRivalCell, bestRivalOffGrid: false }, ['all'], trial);
  }
  return { learner, statistics };
}

function sumsOf(statistics: ReadonlyMap<string, Histogram>): ({ cells: Float64Array; factor: number } | null)[] {
  return Array.from({ length: momentStatistics(layout) }, (_, place) => {
    const known = statistics.get(`all~two:moments-${place}`);
    return known === undefined ? null : { cells: known.cells, factor: 1 };
  });
}

test('effects of levels are found from results alone, whatever else the requests had', () => {
  const { statistics } = taught(400);
  const found = effectsOf(layout, { moments: sumsOf(statistics), drift: null, won: null, errors: null });
  assert.ok(found !== null);
  assert.ok(Math.abs(found.byColumn[1]! - found.byColumn[0]! - 60) < 3, `${found.byColumn}`);
  assert.ok(Math.abs(found.byColumn[3]! - found.byColumn[4]! - 50) < 3, `${found.byColumn}`);
  assert.equal(effectsOf(layout, { moments: [null], drift: null, won: null, errors: null }), null);
});

test('a tailored curve lies where the features say, and the readings that found it come to count', () => {
  const { learner } = taught(400);
  const dear = learner.decide(['all'], { layout, levels: [1, 3] }, createShared());
  const cheap = learner.decide(['all'], { layout, levels: [0, 4] }, createShared());
  assert.ok(dear.win[295]! > 0.7 && dear.win[315]! < 0.3, `${dear.win[295]}, ${dear.win[315]}`);
  assert.ok(cheap.win[185]! > 0.7 && cheap.win[205]! < 0.3, `${cheap.win[185]}, ${cheap.win[205]}`);
  for (const { win } of [dear, cheap]) {
    for (let cell = 1; cell < cellCount; cell += 1) assert.ok(win[cell]! <= win[cell - 1]! + 1e-12, `rises at ${cell}`);
  }
});

test('a tailored curve is the same again, to the bit, from what is stored and noted', () => {
  const { statistics, learner } = taught(120);
  assert.ok(statistics.size > 0);
  const shared = createShared();
  const made = learner.curve(['all'], shared, 0, layout);
  const { curve, tailoring, trial } = tailor(made, [1, 3]);
  assert.ok(tailoring !== null && made.additive !== null);
  const noted = JSON.parse(JSON.stringify(tailoring)) as typeof tailoring;
  const shapes = decodeShapes(encodeShapes(made.additive.shapes), noted.shapesHash);
  const again = mixTailored(made, shapes, noted);
  assert.deepEqual(again.win, curve.win);
  assert.notDeepEqual(again.win, made.win);
  assert.deepEqual(trial.additive?.locations, tailoring.locations);
  const damaged = encodeShapes({
    ...made.additive.shapes,
    byDigit: made.additive.shapes.byDigit.map((liked) => liked * 2),
  });
  assert.throws(() => decodeShapes(damaged, noted.shapesHash), /do not match/);
});

test('a curve that was tailored before is the same as one tailored anew, for every curve that is at hand', () => {
  const { learner } = taught(120);
  const { learner: other } = taught(60);
  const curves = [learner, other].map((each) => each.curve(['all'], createShared(), 0, layout));
  const levels = [0, 1].flatMap((first) => [2, 3, 4].map((second) => [first, second]));
  for (let round = 0; round < 3; round += 1) {
    for (const made of curves) {
      for (const own of levels) {
        // Nothing is known of the copy.
        assert.deepEqual(tailor(made, own), tailor({ ...made }, own));
      }
    }
  }
  // More than are kept: what was dropped is made again.
  const tailored = (shift: number) => {
    const { additive } = curves[0]!;
    const effects = { ...additive!.effects, base: 40 + shift };
    return tailor({ ...curves[0]!, additive: { ...additive!, effects } }, [0, 2]).curve.win;
  };
  const before = tailored(7);
  for (let shift = 0; shift < 2_500; shift += 1) tailored(shift % 400);
  assert.deepEqual(tailored(7), before);
});

test('the mean of a tailored trial is what the tailored curve would bid', () => {
  const { learner } = taught(120);
  const made = learner.curve(['all'], createShared(), 0, layout);
  const { trial } = tailor(made, [0, 2]);
  const rows = trial.rates.length / trial.breakEvens.length;
  assert.equal(rows, made.trial.rates.length / made.trial.breakEvens.length + additiveReadings.length);
  assert.ok(scoreTrial(trial, 1, 240, false).length > 0);
});

test('a trial of an older program, with other readings, scores nothing and breaks nothing', () => {
  const { learner } = taught(60);
  const { trial } = learner.curve(['all'], createShared(), 0, layout);
  const older: Trial = { ...trial, rates: trial.rates.slice(3 * trial.breakEvens.length) };
  assert.deepEqual(scoreTrial(older, 1, 240, false), []);
});

test('where a rival answers the rate that we won with last, the curve comes to stand on that rate', () => {
  const chance = chanceOf(11);
  const learner = createLearner(settings.winCurve, Float64Array.from([120, 140, 160, 180, 200]));
  const nothing = { layout: { name: 'none', columns: 0 }, levels: [] };
  let latest = 250;
  for (let result = 0; result < 600; result += 1) {
    const { trial } = learner.decide(['all'], nothing, createShared());
    const bestRivalCell = Math.round(chance() < 0.5 ? latest - 1 - 5 * chance() : 290 + 40 * chance());
    latest = 200 + Math.floor(80 * chance());
    learner.learn({ bestRivalCell, bestRivalOffGrid: false, wonHundredths: latest }, ['all'], trial);
  }
  const curveAfter = (wonHundredths: number) => {
    const copy = learner.copy();
    const { trial } = copy.decide(['all'], nothing, createShared());
    copy.learn({ bestRivalCell: 300, bestRivalOffGrid: false, wonHundredths }, ['all'], trial);
    return copy.decide(['all'], nothing, createShared()).win;
  };
  for (const won of [215, 245, 270]) {
    const win = curveAfter(won);
    const lost = win[won - 7]! - win[won]!;
    assert.ok(lost > 0.3, `${lost} is lost right below ${won}`);
  }
});

/** What the readings weigh after so many results around 250, and then some around 250 + `move`, with no feature that tells. */
function weightsAfter(steady: number, late: number, move: number): readonly number[] {
  const chance = chanceOf(5);
  const learner = createLearner(settings.winCurve, Float64Array.from([120, 140, 160, 180, 200]));
  const nothing = { layout: { name: 'none', columns: 0 }, levels: [] };
  for (let result = 0; result < steady + late; result += 1) {
    const { trial } = learner.decide(['all'], nothing, createShared());
    const middle = result < steady ? 250 : 250 + move;
    const bestRivalCell = Math.round(middle + 40 * (chance() + chance() - 1));
    learner.learn({ bestRivalCell, bestRivalOffGrid: false }, ['all'], trial);
  }
  return learner.curve(['all'], createShared(), 0, nothing.layout).weights.additive;
}

test('the reading that is moved by errors of late comes to count within three batches of a shift, and weighs little before', () => {
  const [, before] = weightsAfter(400, 0, 0);
  assert.ok(before! < 0.1, `${before}`);
  for (const move of [-60, 60]) {
    const [, after] = weightsAfter(400, 60, move);
    assert.ok(after! > 0.5, `${after}`);
  }
});

test('features weigh more before any score where they foretell the rates', () => {
  const weightAfter = (noise: number) => {
    const chance = chanceOf(9);
    const statistics = new Map<string, Histogram>();
    const learner = createLearner(settings.winCurve, Float64Array.from([120, 140, 160, 180, 200]), { statistics });
    for (let result = 0; result < 200; result += 1) {
      const levels = levelsOf(chance);
      const { trial } = learner.decide(['all'], { layout, levels }, createShared());
      const known = levels.reduce((sum, level) => sum + effects[level]!, 0);
      const bestRivalCell = Math.round(
        250 + (noise === 0 ? known : 0) + 20 * (chance() - 0.5) + noise * (chance() - 0.5),
      );
      learner.learn({ bestRivalCell, bestRivalOffGrid: false }, ['all'], trial);
    }
    for (const key of statistics.keys()) if (key.includes('scored')) statistics.delete(key);
    return learner.curve(['all'], createShared(), 0, layout).weights.additive[0]!;
  };
  assert.ok(weightAfter(0) > 0.3, `${weightAfter(0)}`);
  assert.ok(weightAfter(100) < 0.2, `${weightAfter(100)}`);
});

test('shapes that a program with fewer readings stored are read', () => {
  const { learner } = taught(60);
  const made = learner.curve(['all'], createShared(), 0, layout);
  const { tailoring } = tailor(made, [1, 3]);
  assert.ok(made.additive !== null && tailoring !== null);
  const { wins, ...rest } = made.additive.shapes;
  const bytes = Buffer.from(encodeShapes({ ...rest, wins: wins.slice(0, 2) }), 'base64');
  const older = decodeShapes(bytes.toString('base64'), createHash('sha256').update(bytes).digest('hex'));
  assert.deepEqual(older.wins, wins.slice(0, 2));
  const noted = { ...tailoring, weights: tailoring.weights.slice(0, 2), locations: tailoring.locations.slice(0, 2) };
  const again = mixTailored(made, older, noted);
  // What the third reading has not, the segments have.
  const same = mixTailored(made, made.additive.shapes, { ...tailoring, weights: [...noted.weights, 0] });
  for (let cell = 0; cell < cellCount; cell += 1) assert.ok(Math.abs(again.win[cell]! - same.win[cell]!) < 1e-12);
});

test('what a program with two additive readings noted is mixed to the same bytes', () => {
  const even = (from: number, to: number, none: number) =>
    curveOf(
      Float64Array.from({ length: cellCount }, (_, cell) => {
        if (cell === noRivalCell) return none;
        return cell < from || cell >= to ? 0 : (1 - none) / (to - from);
      }),
    );
  const sha256 = (bytes: Uint8Array | Float64Array) =>
    createHash('sha256')
      .update(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
      .digest('hex');
  const byDigit = [0.5, 0.75, 1, 1, 1, 1, 1, 1, 0.75, 2];
  const bytes = Float64Array.from([...byDigit, ...even(200, 301, 1 / 16).win, ...even(231, 260, 1 / 8).win]);
  const shapes = decodeShapes(Buffer.from(bytes.buffer).toString('base64'), sha256(bytes));
  const noted = { shapesHash: shapes.hash, weights: [0.23, 0.14], locations: [233, 287] };
  // The hash is that of the older program's curve.
  assert.equal(
    sha256(mixTailored(even(150, 400, 1 / 32), shapes, noted).win),
    '617360d97fd73dcc4206990a7fe1781f8337f8d44f464501c81c9b604b80188f',
  );
});

test('an auction without rivals says nothing of where rivals stand', () => {
  assert.deepEqual(momentAdditions([0, 2], noRivalCell), []);
  const { statistics } = taught(30);
  const before = effectsOf(layout, { moments: sumsOf(statistics), drift: null, won: null, errors: null });
  const trial = {
    breakEvens: [],
    rates: [],
    scale: 0,
    additive: { layout: 'two', levels: [0, 2], locations: [240, 240] },
  };
  const learnt = {
    segmentKeys: ['all'],
    trial,
    bestRivalCell: noRivalCell,
    bestRivalOffGrid: false,
    wonHundredths: 240,
    at: 0,
    halfLifeMs: Number.POSITIVE_INFINITY,
  };
  for (const lesson of lessonsOf(learnt)) {
    if (lesson.kind !== 'learn') continue;
    for (const key of lesson.keys) {
      const histogram = statistics.get(key) ?? emptyHistogram(0);
      foldSums(histogram, lesson.additions, lesson.at, lesson.halfLives);
      statistics.set(key, histogram);
    }
  }
  assert.deepEqual(effectsOf(layout, { moments: sumsOf(statistics), drift: null, won: null, errors: null }), before);
});

test('every statistic that a result teaches is read for a curve', () => {
  const levels = Array.from({ length: 9 }, (_, feature) => feature * 7);
  const trial = {
    breakEvens: [],
    rates: [],
    scale: 0,
    additive: { layout: requestFeatures.name, levels, locations: [240, 241] },
  };
  const learnt = {
    segmentKeys: ['all', 'all|a=1'],
    trial,
    bestRivalCell: 250,
    bestRivalOffGrid: false,
    wonHundredths: 240,
    at: 0,
    halfLifeMs: 1e9,
  };
  const read = new Set(statisticKeysOf(learnt.segmentKeys, requestFeatures));
  for (const lesson of lessonsOf(learnt)) {
    if (lesson.kind === 'learn') for (const key of lesson.keys) assert.ok(read.has(key), key);
  }
});

test('each feature of a request has one level, absent or not, in ascending columns within the layout', () => {
  const at = Date.parse('2026-11-20T12:00:00Z');
  const told = featureLevels(factsOf({ request: sampleRequest, link: null, marginCents: null, at }));
  const bare = featureLevels(
    factsOf({
      request: { ...sampleRequest, requestedAmountCents: null, birthDate: null },
      link: null,
      marginCents: null,
      at,
    }),
  );
  for (const levels of [told, bare]) {
    assert.equal(levels.length, 9);
    assert.ok(levels.every((level, place) => level > (levels[place - 1] ?? -1) && level < requestFeatures.columns));
  }
  assert.notDeepEqual(told, bare);
  const later = featureLevels(
    factsOf({ request: sampleRequest, link: null, marginCents: null, at: at + 6 * 3_600_000 }),
  );
  assert.notEqual(told[0], later[0]);
});
