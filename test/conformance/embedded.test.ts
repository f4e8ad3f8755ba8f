/** The embedded backend is held to the ports. */
import { openEmbeddedReader } from '../../src/adapters/embedded/reader.ts';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import type { NewEntry } from '../../src/bidding/ports.ts';
import { testControl } from './control.ts';
import { kind } from './embedded-backend.ts';
import { testEventLog } from './event-log.ts';
import { testFlowStore } from './flow-store.ts';
import { testMarginCache } from './margin-cache.ts';
import { testRuleBook } from './rule-book.ts';
import { auctionEntry } from './samples.ts';
import { testTokenBook } from './token-book.ts';
import { testViews } from './views.ts';

/** Views are never ahead of their log: the suites of the views fold batches that stand for records which are there. */
const written = {
  ...kind,
  createPlace: async () => {
    const place = await kind.createPlace();
    const store = await kind.open(place);
    const entry = auctionEntry('r', 'of a suite');
    const others = ['callbacks', 'flows'].map((topic) => ({ ...entry, topic }) as unknown as NewEntry);
    await store.log.append(Array.from({ length: 500 }, () => [entry, ...others]).flat());
    await store.close();
    return place;
  },
};

testEventLog(kind);
testViews(written);
testMarginCache(kind);
testFlowStore(written);
testControl(kind);
const books = {
  ...kind,
  open: async (directory: string) => {
    const onFault = (fault: Error) => {
      throw fault;
    };
    const store = await openEmbeddedStore({ directory, onFault });
    const reader = openEmbeddedReader({ directory });
    const close = async () => {
      await reader.close();
      await store.close();
    };
    return { store, reader, close };
  },
};
testRuleBook({
  ...books,
  open: async (place) => {
    const { store, reader, close } = await books.open(place);
    return { ruleBook: store.ruleBook, beside: reader.ruleBook, close };
  },
});
testTokenBook({
  ...books,
  open: async (place) => {
    const { store, reader, close } = await books.open(place);
    return { tokenBook: store.tokenBook, beside: reader.tokenBook, close };
  },
});
