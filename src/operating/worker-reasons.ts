/** Why there was no offer, as a worker is told: by the code of the pass, in the words of the set that decided it, else of the program. */
import type { RuleBook } from '../bidding/ports.ts';
import { splitFiles } from '../domain/set-source.ts';
import type { Json } from '../rules/json.ts';
import type { RuleFault } from '../rules/place.ts';
import { type PassCode, readCodes, type WorkerText } from '../rules/rule-file.ts';

/** What the program says of each code of its own; of `fact-missing:<fact>` the code is the part before the colon. */
export type OwnTexts = Readonly<Record<keyof WorkerText, Readonly<Record<string, string>>>>;

/** `of`: who gives the code. Null: nobody has written it. */
export type ToldReason = { code: string; of: 'rules' | 'desk' } & { [L in keyof WorkerText]: string | null };

/** Those of the rules first. A rule may pass with a code that the program has as well, and says more. */
export function toldReasons(codes: readonly PassCode[], own: OwnTexts): ToldReason[] {
  const ofRules = codes.map(({ code, worker }): ToldReason => {
    return { code, of: 'rules', pt: worker?.pt ?? null, en: worker?.en ?? null };
  });
  const declared = new Set(codes.map(({ code }) => code));
  const ofDesk = Object.keys(own.pt).map((code): ToldReason => {
    return { code, of: 'desk', pt: own.pt[code] ?? null, en: own.en[code] ?? null };
  });
  return [...ofRules, ...ofDesk.filter(({ code }) => !declared.has(code))];
}

/** What one code is told as; null: nobody has written it. */
export function toldAs(code: string, codes: readonly PassCode[], own: OwnTexts): WorkerText | null {
  const known = code.split(':')[0]!;
  const found = toldReasons(codes, own).find((reason) => reason.code === known);
  return found === undefined || found.pt === null || found.en === null ? null : { pt: found.pt, en: found.en };
}

/** The codes that a kept set declares. */
export function codesIn(source: string): readonly PassCode[] {
  const file = splitFiles(source)?.find(({ path }) => path === 'codes.json');
  const faults: RuleFault[] = [];
  return file === undefined ? [] : readCodes({ file: file.path, pointer: '', faults }, JSON.parse(file.text) as Json);
}

export type WorkerReasons = {
  /** `hash`: of the set that decided; null: none did. */
  of: (code: string, hash: string | null) => Promise<WorkerText | null>;
};

/** Sets whose codes are remembered: a page of decisions is of few. */
const mostSets = 8;

export function createWorkerReasons({ ruleBook, own }: { ruleBook: RuleBook; own: OwnTexts }): WorkerReasons {
  const known = new Map<string, readonly PassCode[]>();
  const codesOf = async (hash: string): Promise<readonly PassCode[]> => {
    const remembered = known.get(hash);
    if (remembered !== undefined) return remembered;
    const source = await ruleBook.source(hash);
    if (source === null) return [];
    if (known.size >= mostSets) known.clear();
    const codes = codesIn(source);
    known.set(hash, codes);
    return codes;
  };
  return { of: async (code, hash) => toldAs(code, hash === null ? [] : await codesOf(hash), own) };
}
