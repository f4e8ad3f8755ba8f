/** The state store, for one partition and for several, is held to the port of the views by the suite that holds the backends to it. */
import { testViews } from '../conformance/views.ts';
import { endlessLog, ownedViewsKind, viewsKind } from './state-store.ts';

testViews(viewsKind);
testViews(
  ownedViewsKind('views of several partitions', () => endlessLog()),
  8,
);
