/** Somebody with a browser without scripts: keeps cookies, follows no redirect by itself, sends the forms that pages have. */
import assert from 'node:assert/strict';
import type { Role } from '../http/api-house.ts';

export type PageAnswer = { status: number; text: string; headers: Headers; location: string | null };

export type Person = {
  jar: Map<string, string>;
  get: (path: string, headers?: Record<string, string>) => Promise<PageAnswer>;
  post: (path: string, form: Record<string, string>, headers?: Record<string, string>) => Promise<PageAnswer>;
  /** The hidden fields of the first form of a page that goes there. */
  hiddenIn: (text: string, action: string) => Record<string, string>;
  /** From the page to log in at to the answer of its form. */
  logIn: (token: string, headers?: Record<string, string>) => Promise<PageAnswer>;
};

export function openPerson(origin: string): Person {
  const jar = new Map<string, string>();

  async function ask(path: string, init: RequestInit & { headers: Record<string, string> }): Promise<PageAnswer> {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie === '' ? {} : { cookie }), ...init.headers };
    const answer = await fetch(`${origin}${path}`, { ...init, headers, redirect: 'manual' });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (/Max-Age=0(;|$)/.test(set)) jar.delete(name);
      else jar.set(name, value);
    }
    const text = await answer.text();
    return { status: answer.status, text, headers: answer.headers, location: answer.headers.get('location') };
  }

  const person: Person = {
    jar,
    get: (path, headers = {}) => ask(path, { headers }),
    post: (path, form, headers = {}) =>
      ask(path, {
        method: 'POST',
        headers: { origin, 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams(form).toString(),
      }),
    hiddenIn: (text, action) => {
      const [, form = ''] =
        new RegExp(`<form method="post" action="${action}"[^>]*>(.*?)</form>`, 's').exec(text) ?? [];
      const fields = form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
      return Object.fromEntries([...fields].map(([, name, value]) => [name!, value!.replaceAll('&amp;', '&')]));
    },
    logIn: async (token, headers) => {
      const { text } = await person.get('/');
      return person.post('/console/login', { ...person.hiddenIn(text, '/console/login'), token }, headers);
    },
  };
  return person;
}

/** The token that `startApi` knows. */
export const tokenOf = (role: Role) => `a-token-of-the-${role}`;

export async function loggedIn(origin: string, role: Role): Promise<Person> {
  const person = openPerson(origin);
  const answer = await person.logIn(tokenOf(role));
  assert.deepEqual([answer.status, answer.location], [303, '/'], answer.text);
  return person;
}
