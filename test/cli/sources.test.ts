/** External sources beside a real daemon that is killed while one is asked, and started again. */
import { test } from 'node:test';
import { killedWhileAsked } from './source-stage.ts';

test('killed while a source is asked: asked once more, and the answer makes the bid', { timeout: 120_000 }, (context) =>
  killedWhileAsked(context, (stage) => ({ ...stage.environment, LANCE_LANG: 'en' })),
);
