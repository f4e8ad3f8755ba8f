/** Writes a page of the impact room to a file, with all that it needs inside. */
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Fault } from '../errors.ts';
import { type HtmlPage, htmlPage } from '../impact/page.ts';
import type { CommandWorld } from './world.ts';

const require = createRequire(import.meta.url);

export function writeHtml({ format, readText, readPackageFile }: CommandWorld, path: string, page: HtmlPage): void {
  const text = htmlPage(page, {
    libraryScript: readText(require.resolve('uplot/dist/uPlot.iife.min.js')),
    libraryStyle: readText(require.resolve('uplot/dist/uPlot.min.css')),
    script: readPackageFile('src/impact/page-plots.js'),
    style: readPackageFile('src/impact/page.css'),
  });
  try {
    writeFileSync(path, text);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Fault('not-allowed', format.texts.page.unwritable(path, code ?? ''), cause);
  }
}
