/** Writes a page of the impact room to a file, with all that it needs inside. */
import { createRequire } from 'node:module';
import { type HtmlPage, htmlPage, type PageAssets } from '../impact/page.ts';
import { writeNamed } from './named-file.ts';
import type { CommandWorld } from './world.ts';

const require = createRequire(import.meta.url);

export function pageAssets({
  readText,
  readPackageFile,
}: Pick<CommandWorld, 'readText' | 'readPackageFile'>): PageAssets {
  return {
    libraryScript: readText(require.resolve('uplot/dist/uPlot.iife.min.js')),
    libraryStyle: readText(require.resolve('uplot/dist/uPlot.min.css')),
    script: readPackageFile('src/impact/page-plots.js'),
    style: readPackageFile('src/impact/page.css'),
  };
}

/** Throws `not-allowed`. */
export function writeHtml(world: CommandWorld, path: string, page: HtmlPage): void {
  writeNamed(world, path, htmlPage(page, pageAssets(world)));
}
