/** The embedded backend is held to the ports. */
import { testControl } from './control.ts';
import { kind } from './embedded-backend.ts';
import { testEventLog } from './event-log.ts';
import { testFlowStore } from './flow-store.ts';
import { testMarginCache } from './margin-cache.ts';
import { testViews } from './views.ts';

testEventLog(kind);
testViews(kind);
testMarginCache(kind);
testFlowStore(kind);
testControl(kind);
