/** OpenID providers for tests, on loopback: a real one with its pages, one that lies as it is told, and a browser without scripts. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { Provider } from 'oidc-provider';

export const clientId = 'lance';
export const clientSecret = 'a-secret-of-the-client';

async function listen(
  context: Pick<TestContext, 'after'>,
  listener: (issuer: string) => RequestListener,
  host = '127.0.0.1',
): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://${host}:${(server.address() as AddressInfo).port}`;
  server.on('request', listener(issuer));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return issuer;
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const rsa = () => generateKeyPairSync('rsa', { modulusLength: 2_048 });

/** People by what they are called at their log-in, with their claims. `host`: how it calls this machine. */
export async function startProvider(
  context: Pick<TestContext, 'after'>,
  people: Readonly<Record<string, object>>,
  redirectUri: string,
  host = '127.0.0.1',
): Promise<string> {
  const { privateKey } = rsa();
  const provider = (issuer: string) =>
    new Provider(issuer, {
      clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
      cookies: { keys: ['a-key-of-the-cookies'] },
      jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
      pkce: { required: () => true },
      scopes: ['openid', 'email', 'groups'],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
      findAccount: (_: unknown, id: string) =>
        people[id] === undefined ? undefined : { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
      ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
      features: { devInteractions: { enabled: true } },
    }).callback();
  return listen(context, provider, host);
}

export type Lie = {
  /** Of the ID token. */
  claims?: object;
  header?: object;
  /** Signed by a key that the provider does not show. */
  foreignKey?: boolean;
  /** In place of what it would answer for the code. */
  tokenAnswer?: { status: number; body: unknown };
  /** Of the address that the browser goes back to. */
  back?: Record<string, string>;
  /** It says no address to log out at. */
  endless?: boolean;
  /** In place of its metadata. */
  metadata?: unknown;
};

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function tokenOf(header: { alg?: string; kid?: string }, claims: object, key: KeyObject): string {
  const content = `${base64(header)}.${base64(claims)}`;
  if (header.alg === 'none') return `${content}.`;
  return `${content}.${sign('sha256', Buffer.from(content), key).toString('base64url')}`;
}

/** One that everybody is `ana` at. Takes each code as often as it comes. */
export async function startLiar(context: TestContext, lie: () => Lie): Promise<string> {
  const [own, foreign] = [rsa(), rsa()];
  const nonces = new Map<string, string>();
  return listen(context, (issuer) => (request, response) => {
    const url = new URL(request.url!, issuer);
    const { claims, header, foreignKey = false, tokenAnswer, back, endless = false, metadata } = lie();
    const json = (body: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    switch (url.pathname) {
      case '/.well-known/openid-configuration':
        return json(
          metadata ?? {
            issuer,
            authorization_endpoint: `${issuer}/auth`,
            token_endpoint: `${issuer}/token`,
            jwks_uri: `${issuer}/keys`,
            response_types_supported: ['code'],
            // It claims to take none as well.
            id_token_signing_alg_values_supported: ['RS256', 'none'],
            authorization_response_iss_parameter_supported: true,
            ...(endless ? {} : { end_session_endpoint: `${issuer}/end` }),
          },
        );
      case '/keys':
        return json({ keys: [{ ...own.publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'one' }] });
      case '/auth': {
        const asked = url.searchParams;
        const code = createHash('sha256').update(asked.get('state')!).digest('hex');
        nonces.set(code, asked.get('nonce')!);
        const to = new URL(asked.get('redirect_uri')!);
        const query = { code, state: asked.get('state')!, iss: issuer, ...back };
        for (const [name, value] of Object.entries(query)) to.searchParams.append(name, value);
        return response.writeHead(302, { location: to.href }).end();
      }
      case '/token': {
        const parts: Buffer[] = [];
        request.on('data', (part: Buffer) => parts.push(part));
        return request.on('end', () => {
          if (tokenAnswer !== undefined) return json(tokenAnswer.body, tokenAnswer.status);
          const code = new URLSearchParams(Buffer.concat(parts).toString()).get('code') ?? '';
          const now = Math.floor(Date.now() / 1_000);
          const told = {
            ...{ iss: issuer, aud: clientId, sub: 'subject-of-ana', iat: now, exp: now + 600, nonce: nonces.get(code) },
            ...{ email: 'ana@desk.example', groups: ['desk-operators'], ...claims },
          };
          const idToken = tokenOf(
            { alg: 'RS256', kid: 'one', ...header },
            told,
            (foreignKey ? foreign : own).privateKey,
          );
          return json({ access_token: 'a', token_type: 'bearer', expires_in: 60, id_token: idToken });
        });
      }
      default:
        return response.writeHead(404).end();
    }
  });
}

export type Browser = {
  /** Cookies by host and name. */
  jar: Map<string, string>;
  request: (
    url: string,
    options?: { method?: string; body?: string; headers?: Record<string, string> },
  ) => Promise<Response>;
  /** Goes on from `url` through redirects and the provider's forms until there is nothing to follow. */
  logIn: (url: string, as: string) => Promise<{ response: Response; visited: string[] }>;
};

export function openBrowser(): Browser {
  const jar = new Map<string, string>();

  const request: Browser['request'] = async (url, { method = 'GET', body, headers = {} } = {}) => {
    const { origin } = new URL(url);
    const own = [...jar]
      .filter(([key]) => key.startsWith(`${origin} `))
      .map(([key, value]) => `${key.split(' ')[1]}=${value}`);
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: { ...(own.length === 0 ? {} : { cookie: own.join('; ') }), ...headers },
      ...(body === undefined ? {} : { body }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      const isGone = /max-age=0|expires=Thu, 01 Jan 1970/i.test(line);
      if (isGone) jar.delete(`${origin} ${name}`);
      else jar.set(`${origin} ${name}`, value!);
    }
    return response;
  };

  return {
    jar,
    request,
    logIn: async (url, as) => {
      const visited: string[] = [];
      let at = url;
      let response = await request(at);
      for (let step = 0; step < 20; step += 1) {
        visited.push(at);
        const to = response.headers.get('location');
        if (to !== null) {
          at = new URL(to, at).href;
          response = await request(at);
          continue;
        }
        const isPage = (response.headers.get('content-type') ?? '').startsWith('text/html');
        const text = isPage ? await response.clone().text() : '';
        const action = /<form[^>]*action="([^"]+)"/.exec(text)?.[1];
        const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1];
        if (action === undefined || prompt === undefined) break;
        at = new URL(action, at).href;
        response = await request(at, {
          method: 'POST',
          body: new URLSearchParams({ prompt, login: as, password: 'any' }).toString(),
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        });
      }
      return { response, visited };
    },
  };
}
