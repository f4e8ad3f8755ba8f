/** The figures of many histories. */
import type { ViolationKind } from './checker.ts';
import { type FaultCounts, faultKinds, noFaults } from './faults.ts';
import type { History } from './world.ts';

export type Figures = {
  seeds: number;
  requests: number;
  bids: number;
  events: number;
  faults: FaultCounts;
  violations: number;
  violationsByKind: Partial<Record<ViolationKind, number>>;
};

export function summarise() {
  const figures: Figures = {
    seeds: 0,
    requests: 0,
    bids: 0,
    events: 0,
    faults: noFaults(),
    violations: 0,
    violationsByKind: {},
  };
  return {
    add: (history: History): void => {
      figures.seeds += 1;
      figures.requests += history.requests;
      figures.bids += history.bids;
      figures.events += history.events;
      figures.violations += history.violations.length;
      for (const kind of faultKinds) figures.faults[kind] += history.faults[kind];
      for (const { kind } of history.violations) {
        figures.violationsByKind[kind] = (figures.violationsByKind[kind] ?? 0) + 1;
      }
    },
    figures: (): Figures => figures,
  };
}

export function describe(figures: Figures): string {
  const faults = faultKinds.map((kind) => `${kind} ${figures.faults[kind]}`).join(', ');
  const { seeds, requests, bids, events, violations } = figures;
  return `${seeds} seeds, ${requests} requests, ${bids} bids, ${events} events; faults: ${faults}; ${violations} violations`;
}
