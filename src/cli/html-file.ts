/** Writes a page of the impact room to a file, with all that it needs inside. */
import { createRequire } from 'node:module';
import { type HtmlPage, htmlPage } from '../impact/page.ts';
import { writeNamed } from './named-file.ts';
import type { CommandWorld } from './world.ts';

const require = createRequire(import.meta.url);

/** Throws `not-allowed`. */
export function writeHtml(world: CommandWorld, path: string, page: HtmlPage): void {
  const { readText, readPackageFile } = world;
  const text = htmlPage(page, {
    libraryScript: readText(require.resolve('uplot/dist/uPlot.iife.min.js')),
    libraryStyle: readText(require.resolve('uplot/dist/uPlot.min.css')),
    script: readPackageFile('src/impact/page-plots.js'),
    style: readPackageFile('src/impact/page.css'),
  });
  writeNamed(world, path, text);
}
