/** Makes the pictures of the README anew: `node test/console/pictures.ts`. They show the desk of `lance demo`, whose people are made up. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inheritedEnvironment, mainFile } from '../cli/desk.ts';
import { driveBrowser } from './driven-browser.ts';
import { pictures, picturesFolder } from './picture-list.ts';

const words = [mainFile, 'demo', '--requests', '120', '--seed', '7', '--lang', 'en'];
const child = spawn(process.execPath, words, { env: { ...inheritedEnvironment }, stdio: ['ignore', 'pipe', 'pipe'] });
let said = '';
for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
const shown = async (form: RegExp): Promise<RegExpExecArray> => {
  for (let found = form.exec(said); ; found = form.exec(said)) {
    if (found !== null) return found;
    if (child.exitCode !== null) throw new Error(`the demo ended: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};
const driven = await driveBrowser();
try {
  const [, origin, token] = await shown(/(http:\/\/127\.0\.0\.1:\d+)\/\s.*?(lance_start_[\w-]+)/s);
  const { tab } = driven;
  await tab.size(1280);
  await tab.open(`${origin}/?lang=en`);
  await tab.type('#token', token!);
  await tab.follow('main button');
  await shown(/goes on; Ctrl-C ends it/);
  mkdirSync(fileURLToPath(picturesFolder), { recursive: true });
  for (const { file, path, width, height, scale, scheme } of pictures) {
    await tab.size(width, scheme);
    await tab.open(`${origin}${path}`);
    await tab.until('document.querySelector(".plot") === null || document.documentElement.dataset.drawn !== undefined');
    await tab.smallPicture(fileURLToPath(new URL(file, picturesFolder)), { width, height, scale });
  }
} finally {
  await driven.close();
  child.kill('SIGINT');
  if (child.exitCode === null) await once(child, 'exit');
}
