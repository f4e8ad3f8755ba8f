/** The state store, for one partition and for several, is held to the ports of views and flows by the suites that hold the backends to them. */
import { testFlowStore } from '../conformance/flow-store.ts';
import { testViews } from '../conformance/views.ts';
import { endlessLog, flowsKind, ownedViewsKind, viewsKind } from './state-store.ts';

testViews(viewsKind);
testFlowStore(flowsKind);
testViews(
  ownedViewsKind('views of several partitions', () => endlessLog()),
  8,
);
