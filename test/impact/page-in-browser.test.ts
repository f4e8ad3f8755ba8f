/** What the plots of a page draw, heard from the canvas of a real browser. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pageAssets } from '../../src/cli/html-file.ts';
import { type HtmlPage, htmlPage, type Plot, type PlotUnit } from '../../src/impact/page.ts';
import { describeInBrowser, domOf } from './browser.ts';

const readText = (path: string) => readFileSync(path, 'utf8');
const assets = pageAssets({ readText });

/** Notes each text that is drawn, with the sides of its box in pixels of the canvas. */
const probe = `
  const drawn = [];
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    fillText.call(this, text, x, y);
    const box = this.measureText(text);
    const corners = [-box.actualBoundingBoxLeft, box.actualBoundingBoxRight].map(
      (side) => new DOMPoint(x + side, y).matrixTransform(this.getTransform()),
    );
    const [left, right] = corners.map((corner) => corner.x).sort((a, b) => a - b);
    const [top, bottom] = corners.map((corner) => corner.y).sort((a, b) => a - b);
    const { width, height } = this.canvas;
    drawn.push({ text, inside: left >= 0 && right <= width && top >= 0 && bottom <= height });
    document.documentElement.dataset.texts = JSON.stringify(drawn);
  };`;

function plotOf(unit: PlotUnit, label: string, values: number[]): Plot {
  return {
    kind: 'plot',
    title: unit,
    x: { label: 'x', unit: 'number', values: values.map((_, index) => index) },
    y: { label, unit },
    series: [{ label: 'y', values, look: 'line', tone: 0 }],
    width: 'half',
  };
}

/** The page's elements with `script` in front of its own ones. */
function domWith(page: Pick<HtmlPage, 'figures' | 'sections'>, script: string): string {
  const texts = { language: 'pt-BR', title: 't', lead: '', withoutScript: '' };
  const directory = mkdtempSync(join(tmpdir(), 'lance-page-'));
  const path = join(directory, 'page.html');
  const html = htmlPage({ ...texts, ...page }, assets);
  writeFileSync(path, html.replace('<head>', `<head><script>${script}</script>`));
  const dom = domOf(path);
  rmSync(directory, { recursive: true });
  return dom;
}

/** What a script left at the root element under this name. */
function leftAt<T>(dom: string, name: string): T[] {
  return JSON.parse(new RegExp(`data-${name}="([^"]*)"`).exec(dom)![1]!.replaceAll('&quot;', '"')) as T[];
}

describeInBrowser('a page in a browser', () => {
  test('every label of an axis is whole, however large its figures are', () => {
    const items = [
      plotOf('money', '', [0, 5_000, 40_000]),
      plotOf('money', '', [0, 250_000_000, 1_234_567_890]),
      plotOf('money', 'amount', [-900_000_000_00, 0, 1_234_567_890_00]),
      plotOf('count', 'bids', [0, 123_456_789]),
      plotOf('rate', 'rate', [102, 498]),
      plotOf('share', 'share', [0, 0.001]),
    ];
    const dom = domWith({ figures: [], sections: [{ title: '', text: '', items }] }, probe);
    const texts = leftAt<{ text: string; inside: boolean }>(dom, 'texts');
    assert.ok(texts.some(({ text }) => text.endsWith('1.500.000.000')));
    assert.deepEqual(
      texts.filter(({ inside }) => !inside),
      [],
    );
  });

  test('a large figure at the head of the page stays in its panel', () => {
    const figures = [7, 61_690_00, 10_161_690_00, 1_110_161_690_00].map((cents) => {
      const value = (cents / 100).toLocaleString('pt-BR', { style: 'currency', currency: 'BRL' });
      return { label: 'profit', value: `\u2212${value}`, note: 'more or less' };
    });
    const rooms = `addEventListener('load', () => {
      const rooms = [...document.querySelectorAll('dd')].map((dd) => dd.clientWidth - dd.scrollWidth);
      document.documentElement.dataset.rooms = JSON.stringify(rooms);
    });`;
    assert.deepEqual(leftAt<number>(domWith({ figures, sections: [] }, rooms), 'rooms'), Array(8).fill(0));
  });
});
