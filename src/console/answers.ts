/** What the routes of the console have in common: who asks for a page and sends a form, how it is answered, what is read of a query. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRole } from '../domain/roles.ts';
import type { PageLook } from '../http/api/auth.ts';
import { fromWallClock } from '../wire/local-time.ts';
import type { Shown } from './pages.ts';

export type Session = Extract<PageLook, { kind: 'known' }>['caller'];
export type Form = Readonly<Partial<Record<string, string>>>;
/** Loaded when the first page is asked for. */
export type Pages = typeof import('./pages.ts');
export type PageWorld = { pages: Pages; shown: Shown; session: Session };

export type ConsoleRoutes = {
  /** A page for those who are logged in; others see the page to log in at. */
  page: (
    path: string,
    make: (world: PageWorld, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  ) => void;
  /** A form of a page of ours, and of the session that it is sent in. `limitBytes`: where it may be longer than most. */
  action: (
    path: string,
    run: (world: PageWorld & { form: Form }, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
    limitBytes?: number,
  ) => void;
};

export function forbidden(reply: FastifyReply, pages: Pages, shown: Shown, allowed: readonly ApiRole[]): FastifyReply {
  const { problem, roles } = shown.texts;
  const text = problem.forbiddenText(allowed.map((role) => roles[role]).join(', '));
  return send(reply, pages.problemPage(shown, { title: problem.forbidden, text }), 403);
}

export function unknownPage(pages: Pages, shown: Shown): string {
  const { unknown } = shown.texts.problem;
  return pages.problemPage(shown, { title: unknown, text: '' });
}

export function send(reply: FastifyReply, text: string, status: number): FastifyReply {
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('vary', 'accept-language, cookie')
    .send(text);
}

/** Of a parameter that was sent several times the first counts. */
export function queryOf(request: FastifyRequest): Readonly<Partial<Record<string, string>>> {
  const query = request.query as Record<string, string | string[]>;
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, [value].flat()[0] ?? '']));
}

/** `YYYY-MM-DDTHH:mm`, with seconds or without, as a browser sends it, on Brasília's clock; NaN, which nothing takes, where it is something else or no calendar has it. */
export function wallTime(text: string): number {
  const wallMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN;
  // The 30th of February is read as the 2nd of March.
  const exists = !Number.isNaN(wallMs) && new Date(wallMs).toISOString().startsWith(text);
  return exists ? fromWallClock(wallMs) : Number.NaN;
}
