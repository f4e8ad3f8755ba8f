/** Contracts and withdrawals on the command line, beside a running daemon. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { steadyPort } from '../crash/desk-process.ts';
import { flowsEnvironment, flowsSandbox, noRivals, webhookToken } from '../flows/world.ts';
import { runningClock } from '../sandbox/clocks.ts';
import { jsonLines, lance, linesInTerminal, startDaemon, twoAtATime } from './desk.ts';

const cpf = '52998224725';

test('a withdrawal is begun, taken a step and shown; what is refused says which field and why (defect line 5)', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-flows-cli-'));
  const settings = flowsSandbox(false);
  const sandbox = createSandbox({ settings, seed: 4, clock: runningClock, rivals: noRivals });
  const { url } = await sandbox.listen(0);
  const port = await steadyPort(Math.random);
  const parts = { directory, port, serviceUrl: url, accessToken: settings.tokens.accessToken, place: null };
  const ofDesk = flowsEnvironment(parts);
  const daemon = await startDaemon(ofDesk);
  // What the README says that commands need beside the desk, and no more.
  const { LANCE_DATA_DIR, LANCE_PSEUDONYM_KEY } = ofDesk;
  const environment = { LANCE_DATA_DIR: LANCE_DATA_DIR!, LANCE_PSEUDONYM_KEY: LANCE_PSEUDONYM_KEY!, LANCE_LANG: 'en' };
  context.after(async () => {
    await daemon.stop();
    await sandbox.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  const file = (name: string, content: unknown) => {
    const path = join(directory, name);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };
  const { birthDate } = sandbox.withdrawals.holder(cpf);
  const order = file('order.json', { cpf, birthDate });

  const start = ['withdrawals', 'start', '--file', order, '--key', 'w1', '--by', 'ana', '--json'];
  const begun = await lance(environment, ...start);
  assert.equal(begun.code, 0, begun.stderr);
  const { flowId } = JSON.parse(begun.stdout) as { flowId: string };
  const again = await lance(environment, ...start);
  assert.equal(JSON.parse(again.stdout).flowId, flowId);
  // By the CPF of its worker, and of nobody else.
  for (const [whose, found] of [
    [cpf, [flowId]],
    ['111.444.777-35', []],
  ] as const) {
    const ofWorker = await lance(environment, 'withdrawals', 'list', '--cpf', whose, '--json');
    assert.equal(ofWorker.code, 0, ofWorker.stderr);
    assert.deepEqual(
      jsonLines<{ flowId: string }>(ofWorker.stdout).map((flow) => flow.flowId),
      found,
    );
    assert.ok(!ofWorker.stdout.includes(cpf));
  }

  // Under another key the same worker is somebody else, and what is sealed cannot be read by the desk (clerk, session 33).
  const mistyped = { ...environment, LANCE_PSEUDONYM_KEY: environment.LANCE_PSEUDONYM_KEY.replace(/.$/, '~') };
  const asAna = ['--by', 'ana', '--reason', 'x'];
  const mistaken = [
    ['withdrawals', 'start', '--file', order, '--key', 'w9', '--by', 'ana'],
    ['withdrawals', 'step', flowId, 'cancel', ...asAna],
    ['withdrawals', 'results', flowId, 'simulation', ...asAna],
    ['bids', 'worker', '1', ...asAna],
    ['letters', 'replay'],
  ];
  await twoAtATime(mistaken, async (words) => {
    const other = await lance(mistyped, ...words);
    assert.deepEqual(
      [other.code, /written under another LANCE_PSEUDONYM_KEY/.test(other.stderr)],
      [78, true],
      other.stderr,
    );
  });
  assert.equal(JSON.parse((await lance(environment, 'withdrawals', 'show', flowId, '--json')).stdout).phase, 'started');

  const bad = file('bad.json', { cpf: '123', other: 1 });
  const rootless = { ...environment, LANCE_BASE_URL: url };
  const noObject = file('list.json', []);
  const noJson = file('x.json', `{"cpf": "${cpf}`);
  const [refused, nowhere, list, broken] = await Promise.all([
    lance(environment, 'withdrawals', 'start', '--file', bad, '--by', 'ana'),
    lance(rootless, 'withdrawals', 'start', '--file', order, '--by', 'ana'),
    lance(environment, 'withdrawals', 'start', '--file', noObject, '--by', 'ana'),
    lance(environment, 'withdrawals', 'start', '--file', noJson, '--by', 'ana'),
  ]);
  assert.equal(refused.code, 78);
  assert.match(refused.stderr, /cpf: send the 11 digits of a CPF, as a text without points\n/);
  assert.match(refused.stderr, /the file: take out what is not known here: other/);
  assert.equal(nowhere.code, 65);
  assert.match(nowhere.stderr, /LANCE_FGTS_URL: it is not set/);
  assert.match(list.stderr, /the file: write an object/);
  assert.ok(!refused.stderr.includes('123'));
  assert.match(broken.stderr, /no file with JSON in it\. Line 1, column 9: /);
  assert.ok(!broken.stderr.includes(cpf));

  const long = file('long.json', { birthDay: 'x'.repeat(2_000_000) });
  const empty = file('empty.json', {});
  const cents = file('cents.json', { amountCents: 10.5, rateHundredths: 'x' });
  const inPortuguese = ['withdrawals', 'step', flowId, 'finalisation', '--file', empty, '--by', 'ana', '--lang', 'pt'];
  const units = ['withdrawals', 'step', flowId, 'simulation', '--file', cents, '--by', 'ana'];
  const [tooLong, early, cedo, noUnit, semUnidade] = await Promise.all([
    lance(environment, 'withdrawals', 'step', flowId, 'simulation', '--file', long, '--by', 'ana'),
    lance(environment, 'withdrawals', 'step', flowId, 'finalisation', '--file', empty, '--by', 'ana'),
    lance(environment, ...inPortuguese),
    lance(environment, ...units),
    lance(environment, ...units, '--lang', 'pt'),
  ]);
  assert.equal(tooLong.code, 78);
  assert.match(tooLong.stderr, /has 20000\d\d bytes, more than the 2000000 of the setting api\.bodyLimitBytes/);

  assert.equal(early.code, 65);
  assert.match(
    early.stderr,
    /step: finalisation cannot be asked for while the flow is started; possible now: cancel, s/,
  );
  assert.match(
    cedo.stderr,
    /step: finalisation \(finalizar\) não pode ser pedido na fase “iniciado”; possíveis agora: cancel \(cancelar\), simulation \(simular\)/,
  );
  assert.match(noUnit.stderr, /amountCents: write a whole number, in whole cents of a real\n/);
  assert.match(noUnit.stderr, /rateHundredths: write a number, in hundredths of a percent a month\n/);
  assert.match(semUnidade.stderr, /amountCents: escreva um número inteiro, em centavos inteiros de real\n/);
  const simulation = file('simulation.json', { birthDay: birthDate });
  const step = await lance(
    environment,
    'withdrawals',
    'step',
    flowId,
    'simulation',
    '--file',
    simulation,
    '--by',
    'ana',
    '--key',
    's',
  );
  assert.equal(step.code, 0, step.stderr);
  assert.match(step.stdout, /^w-\w+: simulation: done\. Now: simulated\.\n$/);
  const shown = (await lance(environment, 'withdrawals', 'show', flowId)).stdout;
  assert.match(shown, /Phase +simulated/);
  const [asLines, asJson] = await Promise.all([
    linesInTerminal(environment, 80, 'contracts', 'next'),
    lance(environment, 'contracts', 'next', '--json'),
  ]);
  assert.ok(asLines.includes(`    lance withdrawals step ${flowId} inclusion --file FIELDS \\`), asLines.join('\n'));
  assert.ok(asLines.every((line) => line.length <= 80));
  assert.equal(asLines[0], '1 flow waits for a person; 0 won bids wait for their orders.');
  assert.deepEqual(
    asJson.stdout
      .trim()
      .split('\n')
      .map((line) => {
        const { needs, ...facts } = JSON.parse(line);
        return [facts.flowId, facts.flow, facts.phase, facts.isFrozen, needs.map(({ step }: { step: string }) => step)];
      }),
    [[flowId, 'withdrawal', 'simulated', false, ['inclusion']]],
  );
  assert.match(shown, /^Worker \(CPF\) +\*\*\*\.982\.247-\*\*$/m);
  assert.match(shown, /May be done next +cancel, simulation, inclusion/);
  assert.ok(!shown.includes(cpf));
  const why = ['--by', 'ana', '--reason', 'ligação 12'];
  const periods = await lance(environment, 'withdrawals', 'results', flowId, 'simulation', ...why);
  assert.equal(periods.code, 0, periods.stderr);
  assert.match(periods.stdout, /^Period +From +To +Released/m);
  assert.match(periods.stdout, /^ *1 .+ R\$ [\d,]+\.\d\d .+ \d\.\d\d %/m);
  const none = await lance(environment, 'withdrawals', 'results', flowId, 'proposal', ...why);
  assert.equal(none.code, 66);
  assert.match(none.stderr, /has no answer to proposal\. There is: simulation\./);
  const elsewhere = file('elsewhere.json', { cpf, proposalCode: 'e3b0c442-98fc-4c14-9afb-f4c8996fb924' });
  const takenUp = await lance(environment, 'withdrawals', 'start', '--file', elsewhere, '--by', 'ana');
  assert.match(
    takenUp.stdout,
    /^w-\w+: taken\. Now: taken up by its code; no answer of the service has/,
    takenUp.stderr,
  );
  const lookup = file('lookup.json', { cpf, authorisationNumber: '880011', reason: 'cliente pediu' });
  const lookedUp = await lance(environment, 'lookups', 'start', '--file', lookup, '--by', 'ana');
  assert.match(lookedUp.stdout, /^q-\w+: taken\. Now: /, lookedUp.stderr);
  const [history, historia, portuguese, keyless, other] = await Promise.all([
    lance(environment, 'withdrawals', 'history', flowId),
    lance({ ...environment, LANCE_LANG: 'pt' }, 'withdrawals', 'history', flowId),
    lance({ ...environment, LANCE_LANG: 'pt' }, 'withdrawals', 'list'),
    lance({ ...environment, LANCE_PSEUDONYM_KEY: '' }, 'withdrawals', 'list'),
    lance(environment, 'contracts', 'show', flowId),
  ]);
  assert.match(history.stdout, /shown to somebody +by ana; known by a typed name; what simulation/);
  assert.match(history.stdout, /begun[\s\S]+step asked for[\s\S]+step simulation[\s\S]+being sent[\s\S]+answered/);
  assert.match(historia.stdout, /passo pedido +por ana; passo simulation \(simular\)/);
  assert.match(
    historia.stdout,
    /mostrado a alguém +por ana; identificado por nome digitado; o quê simulation \(simular\); motivo ligação 12/,
  );
  assert.ok(!history.stdout.includes(cpf));
  assert.match(portuguese.stdout, /simulado/);
  assert.ok(portuguese.stdout.includes(flowId));
  assert.match(portuguese.stdout, /^Fluxo +Fase +Situação +Espera por +Início +Por +Trabalhador +Valor +Sobre$/m);
  assert.match(portuguese.stdout, / \*\*\*\.982\.247-\*\* +– /);
  assert.ok(!portuguese.stdout.includes(cpf));
  assert.ok(keyless.stdout.includes(flowId) && !keyless.stdout.includes('982'), keyless.stderr + keyless.stdout);
  assert.equal(other.code, 66);
  assert.match(other.stderr, new RegExp(`There is: lance withdrawals show ${flowId}`));

  const terms9001 = {
    ...{ closedContract: '9001', cpf, registration: 'M-7', employerId: '12345678', employerIdType: 1, agentCpf: cpf },
    ...{ contractType: 'R', installments: 24, rateHundredths: 249, originalRateHundredths: 300 },
    ...{ estimatedInstallmentCents: 123_456, authorisationNumber: '880011' },
  };
  const renegotiation = file('renegotiation.json', terms9001);
  const wrong = file('wrong.json', { ...terms9001, rateHundredths: 301, pendingCharges: true });
  const preview = await lance(environment, 'renegotiations', 'start', '--file', wrong, '--by', 'ana');
  assert.equal(preview.code, 65);
  assert.match(preview.stderr, /rateHundredths: send at most[\s\S]*closedContract: settle the pending charges/);
  assert.doesNotMatch(preview.stderr, /--yes/);
  const words = ['--file', renegotiation, '--by', 'ana', '--yes', '--key', 'r1'];
  const taken = await lance(environment, 'renegotiations', 'start', ...words);
  assert.match(
    taken.stdout,
    /^r-9001: taken\. Now: (being prepared|stopped: the service did not take the query of the link; correct link or NSU \(step amend\))\.\n$/,
  );
  const twice = await lance({ ...environment, LANCE_LANG: 'pt' }, 'renegotiations', 'start', ...words);
  assert.match(twice.stdout, /^r-9001: já pedido com esta chave\. Agora: /);
  const cancel = ['renegotiations', 'step', 'r-9001', 'cancel', '--by', 'ana'];
  const [inReais, bare, begins, newKey, unreasoned] = await Promise.all([
    lance(environment, 'renegotiations', 'show', 'r-9001'),
    lance(environment, 'renegotiations', 'show', '9001'),
    lance(environment, 'withdrawals', 'show', flowId.slice(0, 8)),
    lance(environment, 'renegotiations', 'start', ...words.slice(0, 5), '--key', 'r2'),
    lance(environment, ...cancel),
  ]);
  assert.match(inReais.stdout, /Instalment +R\$ 1,234\.56/);
  assert.match(inReais.stdout, /Instalments +24/);
  assert.equal(bare.code, 66);
  assert.match(bare.stderr, /There is: lance renegotiations show r-9001/);
  assert.match(begins.stderr, new RegExp(`There is: lance withdrawals show ${flowId}`));
  assert.match(
    newKey.stderr,
    /^ +closedContract: there is such a flow already: r-9001, \w+; begun by ana at [^;]+; look at it: lance renegotiations show r-9001; possible now: (?!.*cancel.*;)/m,
  );
  assert.match(newKey.stderr, /; only if it is to be given up: its step cancel, then a start under a new key$/m);
  assert.doesNotMatch(newKey.stderr, /begun by ana at \d{4}-\d\d-\d\dT/, 'a time as people read it');
  const byRui = ['renegotiations', 'step', 'r-9001', 'cancel', '--by', 'rui', '--reason', 'typed twice'];
  const [unasked, misnamed, ofNoCancel] = await Promise.all([
    lance(environment, ...byRui),
    lance(environment, ...byRui, '--of', 'eva'),
    lance(environment, 'renegotiations', 'step', 'r-9001', 'amend', '--by', 'rui', '--of', 'ana'),
  ]);
  for (const refusedOf of [unasked, misnamed]) {
    assert.equal(refusedOf.code, 65, refusedOf.stdout);
    assert.match(
      refusedOf.stderr,
      /r-9001 \(.+\): what was asked last is from ana, .+: the order\. Nothing was sent\.[\s\S]*name\s+them: --of ana$/m,
    );
  }
  assert.match(ofNoCancel.stderr, /amend takes no --of/);
  assert.equal(unreasoned.code, 65);
  assert.match(unreasoned.stderr, /cancel needs --reason TEXT, for the record/);
  const cancelled = await lance(environment, ...cancel, '--reason', 'typed twice');
  assert.match(cancelled.stdout, /^r-9001: cancel: done\. Now: cancelled\.\n$/, cancelled.stderr);
  const usedUp = await lance(environment, 'renegotiations', 'start', ...words);
  assert.match(
    usedUp.stdout.replaceAll(/\s+/g, ' '),
    /^r-9001: asked before under this key\. Now: cancelled\. Nothing was ordered: .* another key \(--key\)\. $/,
    usedUp.stderr,
  );
  const shownPt = await lance({ ...environment, LANCE_LANG: 'pt' }, 'renegotiations', 'show', 'r-9001');
  assert.match(shownPt.stdout, /cancel \(cancelar\) \(ana\): feito/);
  assert.match(shownPt.stdout, /iniciar de novo com outra chave: lance renegotiations start --file ORDER --key/);
  const stepHelp = await lance(environment, 'withdrawals', 'step', '--help');
  assert.match(
    stepHelp.stdout.replaceAll(/\s+/g, ' '),
    /possible now: cancel, confirm, deny, accept, simulation, inclusion,/,
  );

  const sent = await fetch(`http://127.0.0.1:${port}/webhooks/${webhookToken}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ solicitacoesDesconhecidas: [{ cpf }] }),
  });
  assert.equal(sent.status, 202);
  const letters = await lance(environment, 'letters', 'list');
  assert.match(letters.stdout, /Place +Came +Why/);
  assert.ok(!letters.stdout.includes(cpf));
  const replayed = await lance(environment, 'letters', 'replay', '--count', '5', '--json');
  assert.equal(replayed.code, 65, 'a script has to be able to tell that none was understood');
  assert.deepEqual(JSON.parse(replayed.stdout), { read: 1, understood: 0, stillNot: 1, next: 1 });
  const tooMany = await lance(environment, 'letters', 'replay', '--count', '501');
  assert.equal(tooMany.code, 65);
  assert.match(tooMany.stderr, /--count 501 is too many at once: ask for at most 500/);
  const openLetters = async () =>
    jsonLines<{ finding: string; count?: number }>((await lance(environment, 'doctor', '--json')).stdout).find(
      ({ finding }) => finding === 'dead-letters-some',
    )?.count ?? 0;
  const count = await openLetters();
  const place = jsonLines<{ partition: number; offset: number }>(
    (await lance(environment, 'letters', 'list', '--json')).stdout,
  ).map(({ partition, offset }) => `${partition}/${offset}`)[0]!;
  const dismiss = (...words: string[]) =>
    lance({ ...environment, LANCE_LANG: 'en' }, 'letters', 'dismiss', ...words, '--by', 'ana', '--reason', 'teste');
  assert.match((await dismiss(place)).stdout, new RegExp(`Dead letter ${place} dismissed`));
  assert.match((await dismiss(place)).stderr, /was dismissed already, at /);
  assert.match((await dismiss('0/999')).stderr, /No dead letter stands at 0\/999/);
  assert.match((await dismiss('999')).stderr, /write partition and place, like 0\/12/);
  assert.equal(await openLetters(), count - 1);
  const open = await lance({ ...environment, LANCE_LANG: 'en' }, 'letters', 'list');
  assert.match(open.stderr, /1 dismissed is not shown \(--all\)/);
  assert.match(
    (await lance({ ...environment, LANCE_LANG: 'en' }, 'letters', 'list', '--all')).stdout,
    /dismissed .*\(ana: teste\)/,
  );

  const inclusion = ['withdrawals', 'step', flowId, 'inclusion', '--by', 'ana', '--file'];
  const named = file('named.json', { period: 2, birthDate, account: { holderCpf: cpf, bankNumber: 'Itaú' } });
  const unheardOf = file('unheard-of.json', { period: 99, birthDate, pix: { key: 'ana@example.com' } });
  const [withheld, period] = await Promise.all([
    lance(environment, ...inclusion, named),
    lance(environment, ...inclusion, unheardOf),
  ]);
  assert.match(withheld.stderr, /account\.bankNumber: send the three digits of the bank, such as 341/);
  assert.match(period.stderr, /^ +period: send one of the periods simulated last: 1, 2, 3/m);

  const undated = ['start', '--file', file('undated.json', { cpf, alongside: true }), '--key', 'u1', '--by', 'ana'];
  const begunUndated = await lance(environment, 'withdrawals', ...undated, '--json');
  const { flowId: undatedId } = JSON.parse(begunUndated.stdout) as { flowId: string };
  const wrongMonth = file('wrong-month.json', {
    birthDate: birthDate.slice(5, 7) === '01' ? '1990-02-01' : '1990-01-01',
  });
  const refusedStep = [
    'withdrawals',
    'step',
    undatedId,
    'simulation',
    '--file',
    wrongMonth,
    '--by',
    'ana',
    '--key',
    'm',
  ];
  const rejected = await lance(environment, ...refusedStep);
  assert.match(rejected.stdout, /^w-\w+: simulation: refused by the service/, rejected.stderr);
  assert.equal(rejected.code, 1, 'a script has to be able to tell');
  const repeated = await lance(environment, ...refusedStep);
  assert.deepEqual([repeated.code, /asked before under this key/.test(repeated.stdout)], [1, true], repeated.stdout);

  const waitsForPeople = await lance(environment, 'withdrawals', 'list', '--waiting');
  assert.match(waitsForPeople.stdout, new RegExp(`^${flowId} +simulated +– +inclusion `, 'm'));
  assert.match(waitsForPeople.stdout, new RegExp(`^${undatedId} +begun +– +simulation `, 'm'));
  const [all, waitingOnly] = await Promise.all([
    lance(environment, 'lookups', 'list'),
    lance(environment, 'lookups', 'list', '--waiting'),
  ]);
  assert.match(all.stdout, /^q-/m);
  assert.doesNotMatch(waitingOnly.stdout, /^q-/m);

  // In a terminal of 80 columns no line is broken by the terminal (clerk, issue 16).
  const commands = [
    ...[['withdrawals', 'list'], ['renegotiations', 'list'], ['lookups', 'list'], ['letters', 'list'], ['status']],
    ...[
      ['withdrawals', 'show', flowId],
      ['withdrawals', 'history', flowId],
      ['withdrawals', 'results', flowId, 'simulation', ...asAna],
      ['renegotiations', 'show', 'r-9001'],
      ['renegotiations', 'history', 'r-9001'],
      ['doctor'],
    ],
  ];
  const languages = ['pt', 'en'].flatMap((lang) => commands.map((command) => [lang, command] as const));
  await twoAtATime(languages, async ([lang, command]) => {
    const lines = await linesInTerminal({ ...environment, LANCE_LANG: lang }, 80, ...command);
    assert.ok(lines.length > 1, command.join(' '));
    assert.deepEqual([command, lines.filter((line) => line.length > 80)], [command, []]);
  });

  await daemon.stop();
  const later = ['withdrawals', 'step', flowId, 'simulation', '--file', simulation, '--by', 'ana', '--key', 's2'];
  const stored = await lance(environment, ...later);
  assert.equal(stored.code, 0, stored.stderr);
  assert.match(stored.stdout, /stored\. No process is running; it is done when the desk is back/);
  const another = file('another.json', { cpf, birthDate, alongside: true });
  const begunLater = ['withdrawals', 'start', '--file', another, '--key', 'w2', '--by', 'ana', '--lang', 'pt'];
  const storedStart = await lance(environment, ...begunLater);
  assert.equal(storedStart.code, 0, storedStart.stderr);
  assert.match(storedStart.stdout, /^w-\w+: registrado\. Nenhum processo está rodando/);
  // What no desk has taken up is shown, and what is asked for after it is judged by it (clerk, issue 16).
  const waiting = await lance(environment, 'withdrawals', 'show', flowId);
  assert.match(waiting.stdout, /^Not taken up yet +\S+ \S+ \S+ simulation \(ana\)$/m, waiting.stderr);
  const busy = await lance(environment, ...later.slice(0, -1), 's3');
  assert.equal(busy.code, 65);
  assert.match(busy.stderr, /simulation is under way in this flow; ask for simulation again when it has ended/);
  const [laterId] = /^w-\w+/.exec(storedStart.stdout)!;
  assert.match((await lance(environment, 'withdrawals', 'list')).stdout, new RegExp(`^${laterId} `, 'm'));
  assert.match(
    (await lance(environment, 'withdrawals', 'show', laterId)).stdout,
    /Not taken up yet +\S+ \S+ \S+ begins \(ana/,
  );
  // What was handed in is in the list of what waits, also where it is nobody's turn, and `next` says that nothing runs.
  const askedLater = await lance(environment, 'lookups', 'start', '--file', lookup, '--key', 'q9', '--by', 'ana');
  assert.match(askedLater.stdout, /^q-\w+: stored\./, askedLater.stderr);
  const [lookupId] = /^q-\w+/.exec(askedLater.stdout)!;
  const [nextLater, agora, nextJson, shownLater, listed, listedJson] = await Promise.all([
    linesInTerminal(environment, 80, 'contracts', 'next'),
    linesInTerminal({ ...environment, LANCE_LANG: 'pt' }, 80, 'contracts', 'next'),
    lance(environment, 'contracts', 'next', '--json'),
    lance(environment, 'lookups', 'show', lookupId),
    lance(environment, 'withdrawals', 'list'),
    lance(environment, 'withdrawals', 'list', '--json'),
  ]);
  for (const line of [...nextLater, ...agora]) assert.ok(line.length <= 80, line);
  const oneLine = nextLater.join(' ').replaceAll(/\s+/g, ' ');
  assert.match(
    oneLine,
    new RegExp(`${lookupId}: ordered, not read by the desk yet, .*? handed in, .*? begins \\(ana\\)`),
  );
  assert.match(
    oneLine,
    /No desk is running\. Orders and steps of 3 flows are handed in and not read yet: they are done /,
  );
  assert.match(agora.join(' ').replaceAll(/\s+/g, ' '), /Nenhuma mesa está rodando\. Pedidos e passos de 3 fluxos /);
  const inJson = jsonLines<{ flowId: string; startedAt: number; handedIn: object[] }>(nextJson.stdout);
  assert.deepEqual(inJson.find((each) => each.flowId === lookupId)?.handedIn, [
    { step: 'start', by: 'ana', at: inJson.find((each) => each.flowId === lookupId)!.startedAt },
  ]);
  assert.match(shownLater.stdout, /^Phase +ordered, not read by the desk yet$/m);
  assert.doesNotMatch(shownLater.stdout, /The query waits to be sent/);
  assert.match(listed.stdout, new RegExp(`^${flowId} .* the desk: simulation `, 'm'));
  assert.match(listed.stdout, new RegExp(`^${laterId} +ordered, not read by the desk yet .* the desk: begins `, 'm'));
  const waitsLater = jsonLines<{ flowId: string; waitsFor: string[] }>(listedJson.stdout);
  assert.deepEqual(waitsLater.find((each) => each.flowId === flowId)?.waitsFor, []);
  const third = file('third.json', { cpf: '39053344705', birthDate });
  const thirdStart = ['withdrawals', 'start', '--file', third, '--by', 'ana', '--key'];
  assert.equal((await lance(environment, ...thirdStart, 'w3')).code, 0);
  const fourth = await lance(environment, ...thirdStart, 'w4');
  assert.equal(fourth.code, 65);
  assert.match(fourth.stderr, /this worker has a withdrawal under way already: w-/);
  const back = await startDaemon(ofDesk);
  context.after(() => back.stop());
  let ran = '';
  for (let round = 0; round < 20 && !/simulation \(ana\): done[\s\S]+simulation \(ana\): done/.test(ran); round += 1) {
    ran = (await lance(environment, 'withdrawals', 'show', flowId)).stdout;
  }
  assert.match(ran, /simulation \(ana\): done[\s\S]+simulation \(ana\): done/);
});
