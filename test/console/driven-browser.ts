/** A real browser that does what a person does: by its own protocol, for what one look at a page does not show. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { browserProgram, browserSwitches } from '../impact/browser.ts';

const limitMs = 10_000;

export type Tab = {
  /** Resolves when the page is there. */
  open: (url: string) => Promise<void>;
  size: (width: number, scheme?: 'light' | 'dark') => Promise<void>;
  /** What an expression is in the page. */
  value: <T>(expression: string) => Promise<T>;
  /** Waits until it is true. */
  until: (expression: string) => Promise<void>;
  /** Clicks where the element is; resolves when the page that follows is there. */
  follow: (selector: string) => Promise<void>;
  type: (selector: string, text: string) => Promise<void>;
  press: (key: 'Tab' | 'Enter') => Promise<void>;
  /** Without a page that follows. */
  click: (selector: string) => Promise<void>;
  /** Clicks so far, and presses of Enter. */
  clicks: () => number;
  /** The whole page, as a PNG. */
  picture: (path: string) => Promise<void>;
  /** The top of the page, made smaller, as WebP. */
  smallPicture: (path: string, shape: { width: number; height: number; scale: number }) => Promise<void>;
  /** What the browser complained of: scripts and styles that were refused, and errors of scripts. */
  complaints: readonly string[];
};

type Message = { id?: number; method?: string; params?: Record<string, unknown>; result?: unknown; error?: unknown };

export async function driveBrowser(): Promise<{ tab: Tab; close: () => Promise<void> }> {
  const profile = mkdtempSync(join(tmpdir(), 'lance-driven-'));
  const words = [...browserSwitches, '--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'];
  const child = spawn(browserProgram, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  const close = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  try {
    const { host } = new URL(await debuggerOf(child));
    const pages = (await (await fetch(`http://${host}/json/list`)).json()) as {
      type: string;
      webSocketDebuggerUrl: string;
    }[];
    return { tab: await attach(pages.find(({ type }) => type === 'page')!.webSocketDebuggerUrl), close };
  } catch (fault) {
    await close();
    throw fault;
  }
}

/** A person may need this many for a task, from a page of the console on (issue 22). */
const mostClicks = 8;

/** What a person does for one task; `chosen`: clicks in lists of choices, which are not made here. */
export async function task(tab: Tab, what: string, run: () => Promise<void>, chosen = 0): Promise<void> {
  const before = tab.clicks();
  await run();
  const used = tab.clicks() - before + chosen;
  assert.ok(used >= 1 && used <= mostClicks, `${what}: ${used} clicks`);
}

function debuggerOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    child.once('exit', () => reject(new Error(`the browser ended: ${said}`)));
    child.stderr!.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const [, url] = /DevTools listening on (ws:\S+)/.exec(said) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
}

async function attach(url: string): Promise<Tab> {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  const waiting = new Map<number, (message: Message) => void>();
  const complaints: string[] = [];
  let loads = 0;
  let clicks = 0;
  let last = 0;
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
    if (message.method === 'Page.loadEventFired') loads += 1;
    if (message.method === 'Runtime.exceptionThrown') complaints.push(JSON.stringify(message.params));
    if (message.method === 'Log.entryAdded') {
      const { entry } = message.params as { entry: { level: string; text: string } };
      if (entry.level === 'error') complaints.push(entry.text);
    }
  });
  const send = async <R>(method: string, params: object = {}): Promise<R> => {
    last += 1;
    const id = last;
    const answer = new Promise<Message>((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await answer;
    waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result as R;
  };
  for (const domain of ['Page', 'Runtime', 'Log']) await send(`${domain}.enable`);

  async function value<T>(expression: string): Promise<T> {
    type Evaluated = { result: { value: T }; exceptionDetails?: object };
    const options = { expression, returnByValue: true, awaitPromise: true };
    const { result, exceptionDetails } = await send<Evaluated>('Runtime.evaluate', options);
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
    return result.value;
  }

  async function waitFor(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const end = performance.now() + limitMs;
    while (!(await isSo())) {
      if (performance.now() > end) throw new Error(`waited in vain for ${what}`);
      await sleep(20);
    }
  }

  async function loaded(begin: () => Promise<unknown>, what: string): Promise<void> {
    const before = loads;
    await begin();
    await waitFor(what, () => loads > before);
  }

  const placeOf = (selector: string) =>
    value<{ x: number; y: number }>(`(() => {
      const found = document.querySelector(${JSON.stringify(selector)});
      if (found === null) throw new Error('not in the page: ' + ${JSON.stringify(selector)});
      found.scrollIntoView({ block: 'center' });
      const { x, y, width, height } = found.getBoundingClientRect();
      return { x: x + width / 2, y: y + height / 2 };
    })()`);
  const click = async (selector: string) => {
    clicks += 1;
    const at = { ...(await placeOf(selector)), button: 'left', clickCount: 1 };
    await send('Input.dispatchMouseEvent', { type: 'mousePressed', ...at });
    await send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...at });
  };
  const keys = {
    Tab: { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 },
    Enter: { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' },
  };

  return {
    complaints,
    value,
    open: (address) => loaded(() => send('Page.navigate', { url: address }), address),
    size: async (width, scheme = 'light') => {
      await send('Emulation.setDeviceMetricsOverride', {
        width,
        height: 844,
        deviceScaleFactor: 1,
        mobile: width < 600,
      });
      await send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    },
    until: (expression) => waitFor(expression, () => value<boolean>(expression)),
    follow: (selector) => loaded(() => click(selector), selector),
    type: async (selector, text) => {
      await click(selector);
      await send('Input.insertText', { text });
    },
    click,
    clicks: () => clicks,
    press: async (key) => {
      clicks += Number(key === 'Enter');
      await send('Input.dispatchKeyEvent', { type: 'keyDown', ...keys[key] });
      await send('Input.dispatchKeyEvent', { type: 'keyUp', ...keys[key] });
    },
    smallPicture: async (path, { width, height, scale }) => {
      const clip = { x: 0, y: 0, width, height, scale };
      const options = { format: 'webp', quality: 80, clip, captureBeyondViewport: true };
      const { data } = await send<{ data: string }>('Page.captureScreenshot', options);
      writeFileSync(path, Buffer.from(data, 'base64'));
    },
    picture: async (path) => {
      const { data } = await send<{ data: string }>('Page.captureScreenshot', { captureBeyondViewport: true });
      writeFileSync(path, Buffer.from(data, 'base64'));
    },
  };
}
