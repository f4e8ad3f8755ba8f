/** What people order of a running desk over HTTP: pause, caps, rule sets, ends by hand, tokens; who is named for it, and what is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { readTopic } from '../../src/bidding/read-topic.ts';
import { setCap } from '../../src/operating/controls.ts';
import type { KnownToken } from '../../src/operating/tokens.ts';
import { openRuleSet } from '../../src/rules/rule-set.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { filesNamed } from '../bidding/rule-sets.ts';
import { type Reply, type Role, startApi } from './api-house.ts';

type Problem = {
  detail: string;
  errors: { field: string; rule: string; detail: string }[];
  outcome?: { kind: string };
};
const problemOf = ({ body }: Reply) => body as Problem;
const why = { reason: 'taxas estranhas' };

async function until(is: () => Promise<boolean>, timeoutMs = 10_000): Promise<number> {
  const startedAt = performance.now();
  while (!(await is())) {
    if (performance.now() - startedAt > timeoutMs) throw new Error(`not within ${timeoutMs} ms`);
    await sleep(20);
  }
  return performance.now() - startedAt;
}

test('ordering a desk over HTTP', async (context) => {
  const { call, sandbox, store } = await startApi(context);
  const bidCalls = () => sandbox.record.of('call').filter(({ path }) => path === bidPath);
  const sent = () => bidCalls().length;

  await context.test("a pause stops sending at once, is of the token's owner, and is lifted by another", async () => {
    const running = sandbox.run(60);
    await until(async () => sent() > 0);
    const orderedAt = Date.now();
    const paused = await call('POST', '/v1/controls/pause', { role: 'risk', body: why });
    assert.equal(paused.status, 200, paused.text);
    const obeyed = paused.body as { revision: number; obeyedBy: string[]; late: string[]; wasPaused: boolean };
    assert.deepEqual([obeyed.obeyedBy.length, obeyed.late, obeyed.wasPaused], [1, [], false]);
    await running;
    // What was written before the desk had heard of it may arrive a moment later, but nothing later than a second after the order.
    const lastMs = Math.max(...bidCalls().map(({ arrivedAt }) => arrivedAt - orderedAt));
    context.diagnostic(`last bid ${lastMs} ms after the order to pause`);
    assert.ok(lastMs < 1_000, `${lastMs} ms`);
    // Each ends at its deadline, which may be after the last webhook.
    await until(async () => {
      const passed = (await call('GET', '/v1/bids?code=paused')).body as { bids: object[] };
      return passed.bids.length > 0;
    });
    const held = (await call('GET', '/v1/controls', { role: 'viewer' })).body as { pause: object; processes: object[] };
    assert.deepEqual({ ...held.pause, at: 0 }, { by: 'risk', via: 'api', ...why, at: 0 });
    assert.equal(held.processes.length, 1);
    const status = (await call('GET', '/v1/status', { role: 'viewer' })).body as { bidding: { by: string } };
    assert.equal(status.bidding.by, 'risk');
    assert.equal((await call('POST', '/v1/controls/resume', { role: 'operator', body: why })).status, 200);
    const after = sent();
    await sandbox.run(20);
    assert.ok(sent() > after, 'the desk bids again');
    const { orders } = (await call('GET', '/v1/controls/history?limit=2')).body as {
      orders: { kind: string; by: string; via: string }[];
    };
    assert.deepEqual(
      orders.map(({ kind, by, via }) => [kind, by, via]),
      [
        ['resumed', 'operator', 'api'],
        ['paused', 'risk', 'api'],
      ],
    );
  });

  const ruleNames = async () => {
    const kept = (await call('GET', '/v1/rules/sets/live', { role: 'risk' })).body as { source: string };
    const opened = openRuleSet(kept.source, true);
    assert.ok(opened.kind === 'compiled');
    return opened.ruleSet.rules.map(({ name }) => name);
  };
  await context.test('what is wrong or missing names field, values and remedy, and changes nothing', async () => {
    const { revision } = await store.control.read();
    const [anyRule] = await ruleNames();
    const sleepOn = (change: object) => {
      const body = { rule: anyRule, until: Date.now() + 60_000, ...why, ...change };
      return call('POST', '/v1/rules/snoozes', { body });
    };
    const cap = (body: unknown, name = 'mesa') => call('POST', `/v1/controls/caps/${name}`, { body });
    for (const [reply, field, detail] of [
      [await call('POST', '/v1/controls/pause', { body: {} }), 'reason', /is missing; write a text/],
      [await call('POST', '/v1/controls/pause', { body: { reason: ' ' } }), 'reason', /is blank; say why/],
      [await call('POST', '/v1/controls/pause', { body: { ...why, by: 'bruno' } }), 'by', /known are reason/],
      [await cap({ ...why }), 'limitCents', /is missing/],
      [await cap({ ...why, limitCents: -1 }), 'limitCents', /at least 0, in whole cents of a real/],
      [await cap({ ...why, limitCents: 1.5 }), 'limitCents', /a whole number, in whole cents of a real/],
      [await cap({ ...why, limitCents: 5 }, 'a b'), 'name', /letters, digits, hyphens or dots/],
      [await cap({ ...why, limitCents: null }, 'nobody'), 'name', /no cap of this name/],
      [await call('GET', '/v1/controls/caps/nobody'), 'name', /no cap of this name/],
      [await call('POST', '/v1/rules/sets/zzzzzz/approve', { body: {} }), 'set', /6 to 64 characters/],
      [await call('POST', '/v1/rules/sets/ffffffff/activate', { body: {} }), 'set', /no kept set begins like this/],
      [await call('POST', '/v1/rules/sets', { body: { files: [] } }), 'files', /at least one file/],
      [
        await call('POST', '/v1/rules/sets', { body: { files: [{ path: '../x.json', text: '{}' }] } }),
        'files.0.path',
        /a path below the folder/,
      ],
      [await call('POST', '/v1/rules/approval', { body: { needed: 'no' } }), 'needed', /true or false/],
      [await sleepOn({ rule: 'No such rule' }), 'rule', /no rule of the set that decides has this name/],
      [await sleepOn({ until: 5 }), 'until', /at most 30 days from now/],
      [await sleepOn({ until: Date.now() + 31 * 86_400_000 }), 'until', /propose a set without the rule/],
      [await sleepOn({ until: 'tomorrow' }), 'until', /./],
      [await call('POST', '/v1/rules/snoozes/resume', { body: { rule: 'Awake', ...why } }), 'rule', /is not asleep/],
      [
        await call('POST', '/v1/tokens', { body: { owner: 'b', role: 'boss' } }),
        'role',
        /one of viewer, risk, operator, admin/,
      ],
      [await call('POST', '/v1/tokens', { body: { owner: 'b', role: 'risk', days: 400 } }), 'days', /at most 366/],
      [await call('POST', '/v1/tokens/ffff/revoke', { body: {} }), 'id', /no token has this id/],
      [await call('POST', '/v1/bids/1/resolve', { body: { as: 'gone', ...why } }), 'as', /one of won, contemplated/],
    ] as const) {
      const { errors } = problemOf(reply);
      assert.ok([404, 422].includes(reply.status), reply.text);
      assert.equal(errors[0]?.field, field, reply.text);
      assert.match(errors[0]!.detail, detail);
    }
    assert.equal((await store.control.read()).revision, revision);
    assert.deepEqual(await store.tokenBook.read(), []);
  });

  await context.test(
    'a cap by hand holds, is shown with its use, and goes; a CPF in a reason is blotted out',
    async () => {
      const set = { limitCents: 1, reason: 'pedido de 529.982.247-25' };
      assert.equal((await call('POST', '/v1/controls/caps/mesa', { role: 'operator', body: set })).status, 200);
      const before = sent();
      await sandbox.run(20);
      assert.equal(sent(), before, 'a bid was sent over the cap');
      const use = (await call('GET', '/v1/controls/caps/mesa')).body;
      assert.deepEqual(use, { name: 'mesa', limitCents: 1, usedCents: 0, bids: 0 });
      const { caps } = (await call('GET', '/v1/controls')).body as { caps: { by: string; reason: string }[] };
      assert.deepEqual([caps[0]?.by, caps[0]?.reason], ['operator', 'pedido de ***']);
      const taken = await call('POST', '/v1/controls/caps/mesa', { body: { limitCents: null, ...why } });
      assert.equal(taken.status, 200, taken.text);
      assert.deepEqual((await store.control.read()).caps, {});
    },
  );

  await context.test(
    'a rule is put to sleep by a person who decides on rules, and stands in traces until it is woken',
    async () => {
      const { live } = (await call('GET', '/v1/rules')).body as { live: string };
      const names = await ruleNames();
      const rule = names[0]!;
      const ends = Date.now() + 3_600_000;
      const body = { rule, until: ends, reason: 'de 529.982.247-25' };
      assert.equal((await call('POST', '/v1/rules/snoozes', { role: 'operator', body })).status, 403);
      const done = await call('POST', '/v1/rules/snoozes', { role: 'risk', body });
      assert.equal(done.status, 200, done.text);
      const { snoozes } = (await call('GET', '/v1/rules/snoozes', { role: 'viewer' })).body as { snoozes: object[] };
      assert.deepEqual(
        snoozes.map((one) => ({ ...one, at: 0 })),
        [{ rule, until: ends, by: 'risk', via: 'api', reason: 'de ***', at: 0, holds: true }],
      );
      await sandbox.run(10);
      const traces = async () => {
        const found: { at: number; snoozed: readonly { rule: string }[] | undefined; hash: string }[] = [];
        for await (const { record } of readTopic(store.log, 'auctions'))
          if ('trace' in record && record.trace !== null)
            found.push({ at: record.at, snoozed: record.trace.snoozed, hash: record.trace.ruleSetHash });
        return found;
      };
      const asleep = (await traces()).filter(({ snoozed }) => snoozed !== undefined);
      assert.ok(asleep.length > 0 && asleep.every(({ snoozed, hash }) => snoozed![0]!.rule === rule && hash === live));
      const woken = await call('POST', '/v1/rules/snoozes/resume', { role: 'risk', body: { rule, ...why } });
      assert.equal(woken.status, 200, woken.text);
      const count = asleep.length;
      await sandbox.run(10);
      assert.equal((await traces()).filter(({ snoozed }) => snoozed !== undefined).length, count);
      const { orders } = (await call('GET', '/v1/controls/history?limit=2')).body as {
        orders: { kind: string; name: string; until: number | null }[];
      };
      assert.deepEqual(
        orders.map((given) => [given.kind, given.name, given.until]),
        [
          ['rule-resumed', rule, null],
          ['rule-snoozed', rule, ends],
        ],
      );
    },
  );

  await context.test('what a worker is told of each code is written in the API, and beside each pass', async () => {
    const reply = await call('GET', '/v1/rules/sets/live/reasons', { role: 'viewer' });
    const { hash, reasons } = reply.body as {
      hash: string;
      reasons: { code: string; of: string; pt: string; en: string }[];
    };
    assert.equal(hash, ((await call('GET', '/v1/rules')).body as { live: string }).live);
    assert.equal(new Set(reasons.map(({ code }) => code)).size, reasons.length);
    const tenure = reasons.find(({ code }) => code === 'tenure-short')!;
    assert.equal(tenure.of, 'rules');
    assert.equal(tenure.en, 'You have been in this employment for too short a time for this loan.');
    assert.equal((await call('GET', '/v1/rules/sets/ffffffff/reasons', { role: 'viewer' })).status, 404);
    const { bids } = (await call('GET', '/v1/bids?limit=200')).body as { bids: { requestId: string; code: string }[] };
    const passed = bids.filter(({ code }) => code !== null);
    const byRule = passed.find(({ code }) => reasons.some((one) => one.of === 'rules' && one.code === code));
    const byDesk = passed.find(({ code }) => code === 'paused');
    assert.ok(byRule !== undefined && byDesk !== undefined);
    for (const { requestId, code } of [byRule, byDesk]) {
      const { pt, en } = reasons.find((one) => one.code === code)!;
      for (const role of ['viewer', 'risk'] as const) {
        const shown = (await call('GET', `/v1/bids/${requestId}`, { role })).body as {
          workerTold: object;
          trace: object | null;
          hindrances: object[];
        };
        assert.deepEqual(shown.workerTold, { pt, en }, code);
        if (role === 'viewer') assert.deepEqual([shown.trace, shown.hindrances], [null, []]);
      }
    }
  });

  await context.test('a request is ended by hand where it may be, by a named person', async () => {
    const { bids } = (await call('GET', '/v1/bids?limit=200')).body as { bids: { requestId: string; state: string }[] };
    const passed = bids.find(({ state }) => state === 'passed')!;
    const open = bids.find(({ state }) => ['accepted', 'won', 'contemplated', 'proposed'].includes(state))!;
    const refused = await call('POST', `/v1/bids/${passed.requestId}/resolve`, { body: { as: 'lost', ...why } });
    assert.deepEqual([refused.status, problemOf(refused).outcome?.kind], [409, 'refused'], refused.text);
    const told = (await call('GET', `/v1/bids/${open.requestId}`)).body as { workerTold: object | null };
    assert.equal(told.workerTold, null);
    assert.equal((await call('POST', '/v1/bids/999/resolve', { body: { as: 'lost', ...why } })).status, 404);
    const done = await call('POST', `/v1/bids/${open.requestId}/resolve`, {
      role: 'operator',
      body: { as: 'cancelled', reason: 'CPF 52998224725' },
    });
    assert.deepEqual([done.status, done.body], [200, { kind: 'done', state: 'cancelled' }], done.text);
    const records = (await store.log.readKey('auctions', open.requestId)).map(({ record }) => record);
    const resolved = records.find(({ kind }) => kind === 'resolved');
    assert.ok(resolved?.kind === 'resolved');
    assert.deepEqual([resolved.by, resolved.via, resolved.reason], ['operator', 'api', 'CPF ***']);
    const frozen = await call('POST', `/v1/bids/${open.requestId}/thaw`, { body: { action: 'retry', ...why } });
    assert.deepEqual([frozen.status, problemOf(frozen).errors[0]?.rule], [409, 'is-frozen']);
    assert.equal((await call('POST', '/v1/events/event:1/thaw', { body: { action: 'retry', ...why } })).status, 404);
  });

  await context.test(
    'a set is proposed by one identity, approved by another, followed, and gone back from',
    async () => {
      const files = filesNamed('other');
      const needed = await call('POST', '/v1/rules/approval', { role: 'risk', body: { needed: true } });
      assert.deepEqual(needed.body, { kind: 'approval-on' }, needed.text);
      const bad = await call('POST', '/v1/rules/sets', { role: 'risk', body: { files: files.slice(0, 2) } });
      assert.deepEqual([bad.status, problemOf(bad).outcome?.kind], [422, 'rules-refused'], bad.text);
      const proposed = await call('POST', '/v1/rules/sets', { role: 'risk', body: { files } });
      assert.equal(proposed.status, 201, proposed.text);
      const { hash, next } = proposed.body as { hash: string; next: string };
      assert.equal(next, 'approve');
      const own = await call('POST', `/v1/rules/sets/${hash}/approve`, { role: 'risk', body: {} });
      assert.deepEqual([own.status, problemOf(own).errors[0]?.rule], [409, 'another-person'], own.text);
      const early = await call('POST', `/v1/rules/sets/${hash}/activate`, { role: 'risk', body: {} });
      assert.deepEqual([early.status, problemOf(early).errors[0]?.rule], [409, 'set-approved']);
      const { live: first } = (await call('GET', '/v1/rules')).body as { live: string };
      const diff = (await call('GET', `/v1/rules/diff?after=${hash.slice(0, 8)}`, { role: 'operator' })).body as {
        before: string;
        differences: object[];
      };
      assert.ok(diff.before === first && diff.differences.length > 0);
      const approved = await call('POST', `/v1/rules/sets/${hash.slice(0, 12)}/approve`, { role: 'admin', body: {} });
      assert.equal(approved.status, 200, approved.text);
      assert.equal((approved.body as { kind: string }).kind, 'announced');
      const ruleSet = async () => ((await call('GET', '/v1/status')).body as { ruleSet: string }).ruleSet;
      await until(async () => (await ruleSet()) === hash);
      const back = await call('POST', '/v1/rules/rollback', { role: 'operator', body: {} });
      assert.equal(back.status, 200, back.text);
      const { reviewBy } = back.body as { reviewBy: number };
      assert.ok(reviewBy > Date.now());
      await until(async () => (await ruleSet()) === first);
      type Standing = { rollback: { by: string; from: string; reviewedBy: string | null }; before: string | null };
      const standing = async () => (await call('GET', '/v1/rules')).body as Standing;
      const { rollback, before } = await standing();
      assert.deepEqual([rollback.by, rollback.from, rollback.reviewedBy, before], ['operator', hash, null, null]);
      const none = await call('POST', '/v1/rules/rollback', { role: 'operator', body: {} });
      assert.deepEqual([none.status, problemOf(none).errors[0]?.rule], [409, 'set-before'], none.text);
      const review = await call('POST', `/v1/rules/sets/${first}/approve`, { role: 'risk', body: {} });
      assert.equal((review.body as { kind: string }).kind, 'reviewed', review.text);
      assert.equal((await standing()).rollback.reviewedBy, 'risk');
      const { entries } = (await call('GET', '/v1/rules/history')).body as {
        entries: { kind: string; by: string | null; via?: string }[];
      };
      assert.deepEqual(
        entries.map(({ kind, by, via }) => [kind, by, via ?? null]),
        [
          ['approved', 'risk', 'api'],
          ['activated', 'operator', 'api'],
          ['activated', 'admin', 'api'],
          ['approved', 'admin', 'api'],
          ['proposed', 'risk', 'api'],
          ['approval-required', 'risk', 'api'],
          ['activated', null, null],
          ['proposed', null, null],
        ],
      );
      const kept = (await call('GET', `/v1/rules/sets/${hash}`, { role: 'risk' })).body as { source: string };
      assert.match(kept.source, /Marker other/);
    },
  );

  await context.test('a cap is raised by two identities, once a record asks for them', async () => {
    const cap = (role: Role, limitCents: number | null) =>
      call('POST', '/v1/controls/caps/dupla', { role, body: { limitCents, reason: 'fim do mês' } });
    const approval = (role: Role, needed: boolean) =>
      call('POST', '/v1/rules/approval', { role, body: { needed, of: 'caps' } });
    const clock = createSystemClock();
    const ofSets = async () => ((await call('GET', '/v1/rules')).body as { approvalNeeded: boolean }).approvalNeeded;
    const before = await ofSets();
    const limit = async () => (await store.control.read()).caps.dupla;
    const statuses = async (...orders: [Role, number | null][]) => {
      const found = [];
      for (const [role, limitCents] of orders) found.push((await cap(role, limitCents)).status);
      return [...found, await limit()];
    };
    assert.deepEqual(
      await statuses(['risk', 100], ['risk', 200]),
      [200, 200, 200],
      'one person, where nothing asks for two',
    );
    assert.deepEqual((await approval('risk', true)).body, { kind: 'approval-on' });
    const alone = await cap('risk', 300);
    assert.deepEqual(
      [alone.status, problemOf(alone).errors[0]?.rule, await limit()],
      [409, 'another-person', 200],
      alone.text,
    );
    assert.deepEqual(
      await statuses(['risk', 300], ['admin', 301], ['operator', null]),
      [409, 409, 409, 200],
      'one person twice, or other limits',
    );
    assert.deepEqual(await statuses(['admin', 300]), [200, 300]);
    // Lower, and anew: one person. What was completed counts for no later raise.
    assert.deepEqual(await statuses(['operator', 50], ['admin', 300], ['operator', 301]), [200, 409, 409, 50]);
    assert.deepEqual(await statuses(['risk', null], ['admin', null]), [409, 200, undefined], 'to remove it raises it');
    assert.deepEqual(await statuses(['operator', 70]), [200, 70]);
    const typed = await setCap(
      { ...store, clock },
      { by: 'carla', via: 'offline' },
      { name: 'dupla', limitCents: 80, reason: null },
    );
    assert.deepEqual([typed, await limit()], [{ kind: 'identity-needed' }, 70]);
    await store.ruleBook.append({
      ...{ kind: 'cap-raise', name: 'dupla', limitCents: 90, reason: null, via: 'offline' },
      at: clock.now(),
      by: 'carla',
    });
    await store.ruleBook.append({
      ...{ kind: 'cap-raise', name: 'dupla', limitCents: 95, reason: null, via: 'api' },
      at: clock.now() - 86_400_000,
      by: 'carla',
    });
    assert.deepEqual(
      await statuses(['risk', 90], ['risk', 95]),
      [409, 409, 70],
      'a typed name, and an order of yesterday',
    );
    assert.equal(await ofSets(), before, 'sets of rules are another matter');
    assert.ok(!(await call('GET', '/v1/rules/history')).text.includes('cap-raise'));
    assert.deepEqual((await approval('risk', false)).body, { kind: 'approval-one-more' });
    assert.deepEqual((await approval('risk', false)).body, { kind: 'approval-one-more' });
    assert.deepEqual((await approval('admin', false)).body, { kind: 'approval-off' });
    assert.deepEqual(await statuses(['risk', 100], ['risk', null]), [200, 200, undefined]);
  });

  await context.test('a token is given out, works with its role, is revoked, and is nowhere afterwards', async () => {
    const taken = await call('POST', '/v1/tokens', { body: { owner: 'LOCAL', role: 'risk', days: 1 } });
    assert.match(`${taken.status} ${taken.text}`, /^422 .*owner: send .*, and not local/);
    const given = await call('POST', '/v1/tokens', {
      body: { owner: 'bruno', role: 'risk', days: 1, reason: 'für 529.982.247-25' },
    });
    assert.equal(given.status, 201, given.text);
    assert.equal(given.headers.get('cache-control'), 'no-store');
    const { id, token } = given.body as { id: string; token: string };
    const self = await call('GET', '/v1/identity', { token });
    assert.deepEqual(
      { ...(self.body as object), expiresAt: 0 },
      { name: 'bruno', role: 'risk', tokenId: id, expiresAt: 0, csrfToken: null },
      self.text,
    );
    assert.equal((await call('GET', '/v1/tokens', { token })).status, 403);
    // Another token of the same person is the same person.
    const second = (await call('POST', '/v1/tokens', { body: { owner: 'Bruno', role: 'admin' } })).body as {
      id: string;
      token: string;
    };
    const files = filesNamed('third');
    const { hash } = (await call('POST', '/v1/rules/sets', { token, body: { files } })).body as { hash: string };
    const twice = await call('POST', `/v1/rules/sets/${hash}/approve`, { token: second.token, body: {} });
    assert.deepEqual([twice.status, problemOf(twice).errors[0]?.rule], [409, 'another-person'], twice.text);
    const listed = await call('GET', '/v1/tokens');
    assert.ok(!listed.text.includes(token) && !listed.text.includes('sha256'));
    const revoked = await call('POST', `/v1/tokens/${id}/revoke`, { body: { reason: 'saiu' } });
    assert.deepEqual(revoked.body, { id, owner: 'bruno', before: false }, revoked.text);
    const refused = await call('GET', '/v1/identity', { token });
    assert.deepEqual([refused.status, /was revoked/.test(refused.text)], [401, true], refused.text);
    assert.equal((await call('GET', '/v1/identity', { token: second.token })).status, 200);
    const again = await call('POST', `/v1/tokens/${id}/revoke`, { body: {} });
    assert.equal((again.body as { before: boolean }).before, true);
    const { tokens } = (await call('GET', '/v1/tokens')).body as { tokens: KnownToken[] };
    const told = tokens.find((known) => known.id === id)!;
    assert.deepEqual([told.reason, told.revoked?.reason], ['für ***', 'saiu']);
    const book = JSON.stringify(await store.tokenBook.read());
    assert.ok(!book.includes(token));
    // Whoever writes beside the process is heard within five seconds.
    const at = Date.now();
    await store.tokenBook.append({ kind: 'revoked', id: second.id, at, by: 'ana', via: 'offline' });
    const tookMs = await until(async () => (await call('GET', '/v1/identity', { token: second.token })).status === 401);
    assert.ok(tookMs < 5_000, `${tookMs} ms`);
    context.diagnostic(`revocation beside the process: ${Math.round(tookMs)} ms`);
  });
});
