/** `lance rules reasons`: what a worker is told for each code, of the rule set and of the program, in both languages. */
import type { WorkerText } from '../rules/rule-file.ts';
import { requireRules } from './rules-files.ts';
import { workerReasonsEn } from './worker-reasons-texts-en.ts';
import { type OwnCode, workerReasonsPt } from './worker-reasons-texts-pt.ts';
import type { CommandWorld } from './world.ts';

type Told = { code: string; of: 'rules' | 'desk' } & { [L in keyof WorkerText]: string | null };

/** Resolves to the exit code: 1 where a code of the rules has no text. */
export function tellReasons(world: CommandWorld, directory: string, json: boolean): number {
  const { terminal, format } = world;
  const { rules } = format.texts;
  const { codes } = requireRules(world, directory);
  const ofRules = codes.map(({ code, worker }): Told => {
    return { code, of: 'rules', pt: worker?.pt ?? null, en: worker?.en ?? null };
  });
  const own = Object.keys(workerReasonsPt) as OwnCode[];
  const ofDesk = own.map((code): Told => ({ code, of: 'desk', pt: workerReasonsPt[code], en: workerReasonsEn[code] }));
  // A rule may pass with a code that the program has as well, and says more.
  const declared = new Set(codes.map(({ code }) => code));
  for (const told of [...ofRules, ...ofDesk.filter(({ code }) => !declared.has(code))]) {
    if (json) terminal.write(JSON.stringify(told));
    else {
      terminal.write(told.code);
      for (const language of ['pt', 'en'] as const) {
        terminal.write(`  ${language}  ${told[language] ?? rules.reasonMissing}`);
      }
    }
  }
  const missing = ofRules.filter(({ pt }) => pt === null).map(({ code }) => code);
  if (missing.length > 0) terminal.say(rules.reasonsMissing(missing.join(', ')));
  return missing.length > 0 ? 1 : 0;
}
