/** The figures of many histories of the cap book. */
import type { Violation } from './checker.ts';
import { type CapHistory, type LossKind, lossKinds } from './world.ts';

export type CapFigures = {
  seeds: number;
  requests: number;
  sends: number;
  epochs: number;
  events: number;
  losses: Record<LossKind, number>;
  violations: number;
  violationsByKind: Partial<Record<Violation['kind'], number>>;
  /** Seeds with a violation. */
  brokenSeeds: number;
  /** The first of them; null: none. */
  firstBroken: number | null;
};

export function summariseCapBooks() {
  const figures: CapFigures = {
    seeds: 0,
    requests: 0,
    sends: 0,
    epochs: 0,
    events: 0,
    losses: Object.fromEntries(lossKinds.map((kind) => [kind, 0])) as Record<LossKind, number>,
    violations: 0,
    violationsByKind: {},
    brokenSeeds: 0,
    firstBroken: null,
  };
  return {
    add: (history: CapHistory): void => {
      figures.seeds += 1;
      figures.requests += history.requests;
      figures.sends += history.sends;
      figures.epochs += history.epochs;
      figures.events += history.events;
      for (const kind of lossKinds) figures.losses[kind] += history.losses[kind];
      figures.violations += history.violations.length;
      for (const { kind } of history.violations) {
        figures.violationsByKind[kind] = (figures.violationsByKind[kind] ?? 0) + 1;
      }
      if (history.violations.length === 0) return;
      figures.brokenSeeds += 1;
      figures.firstBroken = Math.min(figures.firstBroken ?? history.seed, history.seed);
    },
    figures: (): CapFigures => figures,
  };
}

export function describeCapBooks(figures: CapFigures): string {
  const { seeds, requests, sends, epochs, events, violations, brokenSeeds } = figures;
  const losses = lossKinds.map((kind) => `${kind} ${figures.losses[kind]}`).join(', ');
  const broken = violations === 0 ? '0 violations' : `${violations} violations in ${brokenSeeds} seeds`;
  return `${seeds} seeds, ${requests} requests, ${sends} sends, ${epochs} epochs, ${events} events; losses: ${losses}; ${broken}`;
}
