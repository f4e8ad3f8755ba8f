/** `lance economics propose CSV --to DIR`: rules with tests from the lender's own loans, outside of the rules that the desk follows. */
import { mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { Fault } from '../errors.ts';
import { economicsRules } from '../impact/economics-rules.ts';
import { compileRuleSet } from '../rules/rule-set.ts';
import { runTests } from '../rules/rule-tests.ts';
import { writeBelow } from './named-file.ts';
import { readBook } from './performance.ts';
import { tellFaults } from './rules-files.ts';
import { segmentText } from './rules-impact-text.ts';
import type { CommandWorld } from './world.ts';

const rulesName = 'economics-book.json';
const testsName = 'economics-book.test.json';
const shownTests = 20;

/** Where a path leads, links followed; its end need not be there yet. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    return join(realPath(dirname(path)), basename(path));
  }
}

/** The folder, made where it was not. Throws `not-allowed` where the desk would follow what is written there; then none is made. */
function outsideRules(world: CommandWorld, to: string, directory: string): string {
  const { page, performance } = world.format.texts;
  try {
    const folder = realPath(resolve(to));
    const way = relative(realpathSync(directory), folder);
    if (way !== '..' && !way.startsWith(`..${sep}`)) throw new Fault('not-allowed', performance.insideRules(to));
    mkdirSync(folder, { recursive: true });
    return folder;
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('not-allowed', page.unwritable(to, (cause as NodeJS.ErrnoException).code ?? ''), cause);
  }
}

/** Resolves to the exit code: 65 when a line is bad, no loan is known or the rules are refused; then nothing is written. */
export async function proposeEconomics(
  world: CommandWorld,
  file: string,
  { to, directory, json }: { to: string; directory: string; json: boolean },
): Promise<number> {
  const { terminal, format } = world;
  const { performance, rules: texts } = format.texts;
  const present = world.readRules(directory);
  const compiled = compileRuleSet(present);
  if (compiled.kind === 'refused') {
    tellFaults(world, texts.refused(compiled.faults.length), compiled.faults);
    return 65;
  }
  const { report, bad } = await readBook(world, file, json);
  if (bad.length > 0) {
    terminal.say(performance.withheld(bad.length));
    return 65;
  }
  if (report.economics.segments.length === 0) {
    terminal.say(performance.tooFew);
    return 65;
  }
  const { bookCautionDeviations = 0 } = world.pricing();
  const deciding = compiled.ruleSet.rules.filter(
    ({ event, file: path }) => event === 'economics' && path !== rulesName,
  );
  const proposal = economicsRules(report.economics, {
    name: (key) => performance.ruleName(segmentText(key, format)),
    description: ({ loans, separationMonthly }) =>
      performance.ruleDescription(
        format.number(loans),
        format.number(separationMonthly.exposure),
        format.number(bookCautionDeviations, Number.isInteger(bookCautionDeviations) ? 0 : 1),
      ),
    cautionDeviations: bookCautionDeviations,
    highestPriority: Math.max(0, ...deciding.map(({ priority }) => priority)),
  });
  const own = [
    { path: rulesName, text: `${JSON.stringify(proposal.rules, null, 2)}\n` },
    { path: testsName, text: `${JSON.stringify(proposal.tests, null, 2)}\n` },
  ];
  // An earlier proposal that is in the rules by now is what this one replaces.
  const others = present.filter(({ path }) => path !== rulesName && path !== testsName);
  const candidate = compileRuleSet([...others, ...own]);
  if (candidate.kind === 'refused') {
    tellFaults(world, texts.refused(candidate.faults.length), candidate.faults);
    return 65;
  }
  const folder = outsideRules(world, to, directory);
  for (const { path, text } of own) writeBelow(world, folder, join(folder, path), text);
  const failed = runTests(candidate.ruleSet, null).results.filter(({ failures }) => failures.length > 0);
  const paths = own.map(({ path }) => join(to, path));
  const changed = failed.map(({ test }) => ({ file: test.file, name: test.name }));
  if (json) {
    terminal.write(JSON.stringify({ files: paths, rules: proposal.count, changed, economics: report.economics }));
    return 0;
  }
  terminal.write(performance.proposed(paths.join(', '), proposal.count));
  if (changed.length > 0) terminal.write(performance.changesTests(changed.length));
  for (const { file: path, name } of changed.slice(0, shownTests)) terminal.write(`· ${path} "${name}"`);
  if (changed.length > shownTests) terminal.write(texts.more(changed.length - shownTests));
  terminal.write(performance.next);
  return 0;
}
