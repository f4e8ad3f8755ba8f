/** Writes a page of the impact room to a file, with all that it needs inside. */
import { accessSync, constants, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Fault } from '../errors.ts';
import { type HtmlPage, htmlPage } from '../impact/page.ts';
import type { CommandWorld } from './world.ts';

const require = createRequire(import.meta.url);

function attempt({ format }: CommandWorld, path: string, work: () => void): void {
  try {
    work();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Fault('not-allowed', format.texts.page.unwritable(path, code ?? ''), cause);
  }
}

/** Before long work: its page will have a place. Throws `not-allowed`. */
export function checkPlace(world: CommandWorld, path: string): void {
  attempt(world, path, () => accessSync(dirname(path), constants.W_OK));
}

/** Throws `not-allowed`. */
export function writeHtml(world: CommandWorld, path: string, page: HtmlPage): void {
  const { readText, readPackageFile } = world;
  const text = htmlPage(page, {
    libraryScript: readText(require.resolve('uplot/dist/uPlot.iife.min.js')),
    libraryStyle: readText(require.resolve('uplot/dist/uPlot.min.css')),
    script: readPackageFile('src/impact/page-plots.js'),
    style: readPackageFile('src/impact/page.css'),
  });
  attempt(world, path, () => writeFileSync(path, text));
}
