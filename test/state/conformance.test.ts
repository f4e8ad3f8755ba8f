/** The state store is held to the port of the views by the suite that holds the backends to it. */
import { testViews } from '../conformance/views.ts';
import { viewsKind } from './state-store.ts';

testViews(viewsKind);
