/** The states of flows on the embedded backend: written through the one writer, read from the file. */
import { Fault } from '../../errors.ts';
import type { FlowStore } from '../../origination/ports.ts';
import { type FlowReader, flushOf } from '../../state/flow-rows.ts';
import type { Writer } from './writer.ts';

async function guarded<R>(work: () => R | Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('views-unavailable', 'The states of flows cannot be read or stored.', cause);
  }
}

/** What the command line can do too, beside a running daemon. */
export function readFlows(reader: FlowReader): Omit<FlowStore, 'apply'> {
  const statesOf = (flowIds: readonly string[]) => flowIds.flatMap((flowId) => reader.state(flowId) ?? []);
  return {
    applied: (partition) => guarded(() => reader.applied(partition)),
    read: (flowIds) => guarded(() => new Map(statesOf(flowIds).map((state) => [state.flowId, state]))),
    // Only this process folds into its file, one batch after the other: nothing moves between the two reads.
    readAt: (partition, flowIds) => guarded(() => [{ applied: reader.applied(partition), rows: statesOf(flowIds) }]),
    open: (partition) =>
      guarded(() => (partition === 0 ? [{ applied: reader.applied(partition), rows: reader.open() }] : [])),
    findByCode: (codes) =>
      guarded(() => {
        const found = new Map<string, string>();
        for (const code of codes) {
          const flowId = reader.flowOf(code);
          if (flowId !== null) found.set(code, flowId);
        }
        return found;
      }),
    query: (query) => guarded(() => reader.query(query)),
  };
}

export function createFlows(reader: FlowReader, writer: Writer): FlowStore {
  return {
    ...readFlows(reader),
    apply: (batch) =>
      guarded(async () => {
        const stood = await writer.submit({ kind: 'flows', flush: flushOf(batch) });
        return stood === batch.first ? { kind: 'applied' } : { kind: 'out-of-step', applied: stood };
      }),
  };
}
