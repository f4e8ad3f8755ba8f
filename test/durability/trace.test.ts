import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proveWebhooks, readCalls, walSyncs } from './trace.ts';

const requestId = '7100000000000000017';
const socket = '21<TCP:[127.0.0.1:8080->127.0.0.1:40122]>';
const wal = '19</data/lance.sqlite-wal>';
const lines = {
  readBegins: `100 12:00:00.000001 read(${socket},  <unfinished ...>`,
  readEnds: `100 12:00:00.000003 <... read resumed>"POST /webhooks/x\\r\\n\\r\\n{\\"numeroSolicitacao\\":${requestId}}", 65536) = 120`,
  write: `107 12:00:00.000010 pwrite64(${wal}, "\\0017\\0${requestId}{\\"kind\\":\\"requested\\"}", 4096, 4152) = 4096`,
  syncBegins: `107 12:00:00.000020 fdatasync(${wal} <unfinished ...>`,
  otherSocket: '100 12:00:00.000021 write(22<TCP:[127.0.0.1:8080->127.0.0.1:40124]>, "HTTP/1.1 200 OK\\r\\n", 17) = 17',
  syncEnds: '107 12:00:00.000900 <... fdatasync resumed>) = 0',
  syncFails: '107 12:00:00.000900 <... fdatasync resumed>) = -1 EIO (Input/output error)',
  answer: `100 12:00:00.001000 writev(${socket}, [{iov_base="HTTP/1.1 200 OK\\r\\n", iov_len=17}], 1) = 17`,
};

function proofOf(...names: (keyof typeof lines)[]) {
  return proveWebhooks(readCalls(names.map((name) => lines[name])), [{ requestId }])[0]!;
}

test('a 2xx after the sync of its own write is proven', () => {
  const order = ['readBegins', 'readEnds', 'write', 'syncBegins', 'otherSocket', 'syncEnds', 'answer'] as const;
  assert.deepEqual(proofOf(...order), { kind: 'proven', requestId, syncs: 1 });
  assert.equal(walSyncs(readCalls(order.map((name) => lines[name]))).length, 1);
});

for (const [what, order] of Object.entries({
  'before the sync ended': ['readBegins', 'readEnds', 'write', 'syncBegins', 'answer', 'syncEnds'],
  'after a sync that failed': ['readBegins', 'readEnds', 'write', 'syncBegins', 'syncFails', 'answer'],
  'after a sync that began before the write': ['readBegins', 'readEnds', 'syncBegins', 'write', 'syncEnds', 'answer'],
  'without a write': ['readBegins', 'readEnds', 'syncBegins', 'syncEnds', 'answer'],
  'on another connection only': ['readBegins', 'readEnds', 'write', 'syncBegins', 'syncEnds', 'otherSocket'],
  'to a webhook that was never read': ['write', 'syncBegins', 'syncEnds', 'answer'],
} as const)) {
  test(`a 2xx ${what} is not proven`, () => {
    assert.equal(proofOf(...order).kind, 'not-proven');
  });
}
