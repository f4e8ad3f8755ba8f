/** Writes a page of the impact room to a file, with all that it needs inside. */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type HtmlPage, htmlPage, type PageAssets } from '../impact/page.ts';
import { writePrivate } from './named-file.ts';
import type { CommandWorld } from './world.ts';

const require = createRequire(import.meta.url);
const besidePage = (name: string) => fileURLToPath(new URL(`../impact/${name}`, import.meta.url));

export function pageAssets({ readText }: Pick<CommandWorld, 'readText'>): PageAssets {
  return {
    libraryScript: readText(require.resolve('uplot/dist/uPlot.iife.min.js')),
    libraryStyle: readText(require.resolve('uplot/dist/uPlot.min.css')),
    script: readText(besidePage('page-plots.js')),
    style: readText(besidePage('page.css')),
  };
}

/** Throws `not-allowed`. */
export function writeHtml(world: CommandWorld, path: string, page: HtmlPage): void {
  writePrivate(world, path, htmlPage(page, pageAssets(world)));
}
