/** The page by its text: what is in it, and that nothing in the data gets out of where it stands. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HtmlPage, htmlPage, type PageAssets } from '../../src/impact/page.ts';

const assets: PageAssets = { libraryScript: 'library()', libraryStyle: '.u{}', script: 'draw()', style: 'p{}' };
const hostile = '</script><script>alert(1)</script><!--<img src=x onerror=alert(2)> & "quoted" \'too\'';

const page: HtmlPage = {
  language: 'pt-BR',
  title: hostile,
  lead: hostile,
  figures: [{ label: hostile, value: hostile, note: hostile }],
  withoutScript: hostile,
  sections: [
    {
      title: hostile,
      text: hostile,
      items: [
        {
          kind: 'plot',
          title: hostile,
          x: { label: hostile, unit: 'count', values: [1, 2, 3] },
          y: { label: hostile, unit: 'share', range: [0, 1] },
          series: [{ label: hostile, values: [1 / 3, null, Number.NaN], look: 'line', tone: 0 }],
          marks: [{ at: 2, label: hostile }],
        },
        { kind: 'table', title: hostile, header: [hostile], rows: [[hostile]], right: [0], strong: [0] },
      ],
    },
  ],
};

test('a hostile text stays text, in prose, tables and the data of plots', () => {
  const html = htmlPage(page, assets);
  assert.deepEqual(html.match(/<script[^>]*>/g), [
    '<script type="application/json" id="plots">',
    '<script>',
    '<script>',
  ]);
  assert.equal(html.match(/<\/script>/g)!.length, 3);
  assert.doesNotMatch(html, /<img|<!--/);
  const title = /<title>(.*)<\/title>/.exec(html)![1]!;
  assert.ok(title.includes('&lt;/script&gt;') && title.includes('&amp; &quot;quoted&quot; &#39;too&#39;'));
  const [plot] = JSON.parse(/id="plots">(.*)<\/script>/.exec(html)![1]!);
  assert.equal(plot.series[0].label, hostile);
  assert.equal(plot.marks[0].label, hostile);
});

test('data of plots are rounded, gaps stay gaps, and the legend shows the last place unless told', () => {
  const html = htmlPage(page, assets);
  const [plot] = JSON.parse(/id="plots">(.*)<\/script>/.exec(html)![1]!);
  assert.deepEqual(plot.series[0].values, [0.333333, null, null]);
  assert.equal(plot.shown, 2);
  assert.deepEqual(plot.y, { label: hostile, unit: 'share', range: [0, 1] });
});

test('the policy of the page forbids to load anything', () => {
  const html = htmlPage(page, assets);
  assert.match(html, /http-equiv="Content-Security-Policy" content="default-src 'none';/);
});

test('what has no title gets no empty heading, and a note keeps its lines', () => {
  const items = [{ kind: 'table' as const, title: '', header: ['a'], rows: [['b']], right: [] }];
  const figures = [{ label: 'l', value: 'v', note: 'one\ntwo' }];
  const html = htmlPage({ ...page, figures, sections: [{ title: '', text: 'only prose', items }] }, assets);
  assert.doesNotMatch(html, /<h2>|<caption>/);
  assert.match(html, /<p>only prose<\/p>/);
  assert.match(html, /<dd class="note">one\ntwo<\/dd>/);
});
