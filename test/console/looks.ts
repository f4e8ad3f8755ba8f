/** What every page of the console has to look like in a browser: no wider than the screen, one heading, a name for everything that is used. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Tab } from './driven-browser.ts';

/** Pictures of every page are written here, to be looked at; left out, none are. */
const pictures = process.env.LANCE_TEST_PICTURES;

export async function looksRight(tab: Tab, name: string, width: number): Promise<void> {
  type Measured = { room: number; taken: number; headings: number; nameless: string[]; lang: string };
  // A page that was just asked for may not have its first element yet.
  await tab.until(`document.readyState === 'complete' && document.querySelector('main h1') !== null`);
  const measured = await tab.value<Measured>(`({
    room: document.documentElement.clientWidth,
    taken: document.documentElement.scrollWidth,
    headings: document.querySelectorAll('main h1').length,
    nameless: [...document.querySelectorAll('input:not([type=hidden]), select, textarea, button, a, summary')]
      .filter((each) => !(each.labels?.length > 0) && each.textContent.trim() === '')
      .map((each) => each.outerHTML),
    lang: document.documentElement.lang,
  })`);
  assert.deepEqual(
    { ...measured, room: 0, taken: 0 },
    { room: 0, taken: 0, headings: 1, nameless: [], lang: 'pt-BR' },
    name,
  );
  assert.ok(measured.taken <= measured.room, `${name} is ${measured.taken} wide in ${measured.room}`);
  if (pictures === undefined) return;
  for (const scheme of ['light', 'dark'] as const) {
    await tab.size(width, scheme);
    await tab.picture(join(pictures, `${name}-${width}-${scheme}.png`));
  }
  await tab.size(width);
}
