/** `lance rules reasons`: what a worker is told for each code, of the rule set and of the program, in both languages. */
import { toldReasons } from '../operating/worker-reasons.ts';
import { workerReasonsEn } from './reason-texts-en.ts';
import { workerReasonsPt } from './reason-texts-pt.ts';
import { requireRules } from './rules-files.ts';
import type { CommandWorld } from './world.ts';

/** Resolves to the exit code: 1 where a code of the rules has no text. */
export function tellReasons(world: CommandWorld, directory: string, json: boolean): number {
  const { terminal, format } = world;
  const { rules } = format.texts;
  const { codes } = requireRules(world, directory);
  const reasons = toldReasons(codes, { pt: workerReasonsPt, en: workerReasonsEn });
  for (const told of reasons) {
    if (json) terminal.write(JSON.stringify(told));
    else {
      terminal.write(told.code);
      for (const language of ['pt', 'en'] as const) {
        terminal.write(`  ${language}  ${told[language] ?? rules.reasonMissing}`);
      }
    }
  }
  const missing = reasons.filter(({ pt }) => pt === null).map(({ code }) => code);
  if (missing.length > 0) terminal.say(rules.reasonsMissing(missing.join(', ')));
  return missing.length > 0 ? 1 : 0;
}
