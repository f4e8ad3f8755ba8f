/** The embedded backend is held to the ports. */
import { openEmbeddedReader } from '../../src/adapters/embedded/reader.ts';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { testControl } from './control.ts';
import { kind } from './embedded-backend.ts';
import { testEventLog } from './event-log.ts';
import { testFlowStore } from './flow-store.ts';
import { testMarginCache } from './margin-cache.ts';
import { testRuleBook } from './rule-book.ts';
import { testViews } from './views.ts';

testEventLog(kind);
testViews(kind);
testMarginCache(kind);
testFlowStore(kind);
testControl(kind);
testRuleBook({
  ...kind,
  open: async (directory) => {
    const onFault = (fault: Error) => {
      throw fault;
    };
    const store = await openEmbeddedStore({ directory, onFault });
    const reader = openEmbeddedReader({ directory });
    const close = async () => {
      await reader.close();
      await store.close();
    };
    return { ruleBook: store.ruleBook, beside: reader.ruleBook, close };
  },
});
