/**
 * How many connections may be open. When there are too many, one makes room for the newest: of strangers first, then of the API,
 * then of webhooks, and of each the one that has been idle the longest. So a token of the API shuts no webhook out.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** What the sender of a request has shown. `name`: of the token. */
export type Proof = { kind: 'none' } | { kind: 'api'; name: string } | { kind: 'webhooks' };

export type Connections = {
  /** A request came over its connection. False: its token has too many others under way, and this one is to be refused. */
  begin: (request: IncomingMessage, proof: Proof) => boolean;
  /** It was answered, or broke off. */
  end: (request: IncomingMessage) => void;
};

const kinds = ['none', 'api', 'webhooks'] as const;
type Kind = Proof['kind'];

type Connection = {
  socket: Socket;
  /** The best that was ever shown on it. */
  kind: Kind;
  /** Of the API token, where that is the best. */
  name: string | null;
  /** Under way, with the time at which they began. */
  requests: Map<IncomingMessage, number>;
};

/** Insertion order is the order in which they became idle or busy. */
type Group = { idle: Set<Connection>; busy: Set<Connection> };

/** One token of the API may have this part of all connections open, but no fewer than a browser opens. */
const tokenPart = 0.1;
const tokenLeast = 6;
/** A webhook whose body is not whole after this time does not keep its connection from making room. */
const bodyMs = 1_000;

const newGroup = (): Group => ({ idle: new Set(), busy: new Set() });

/** `onClosed` hears of each connection that had to make room. `monotonicMs` never goes back. */
export function limitConnections(
  server: Server,
  limit: number,
  monotonicMs: () => number,
  onClosed: () => void,
): Connections {
  const tokenLimit = Math.max(tokenLeast, Math.floor(limit * tokenPart));
  const groups = { none: newGroup(), api: newGroup(), webhooks: newGroup() };
  const tokens = new Map<string, Group>();
  const bySocket = new Map<Socket, Connection>();

  function groupsOf({ kind, name }: Connection): Group[] {
    return name === null ? [groups[kind]] : [groups[kind], groupOf(name)];
  }

  function groupOf(name: string): Group {
    const found = tokens.get(name) ?? newGroup();
    tokens.set(name, found);
    return found;
  }

  function take(connection: Connection): void {
    for (const { idle, busy } of groupsOf(connection)) {
      idle.delete(connection);
      busy.delete(connection);
    }
  }

  function put(connection: Connection): void {
    const state = connection.requests.size === 0 ? 'idle' : 'busy';
    for (const group of groupsOf(connection)) group[state].add(connection);
  }

  function close(connection: Connection): void {
    bySocket.delete(connection.socket);
    take(connection);
    connection.socket.destroy();
    onClosed();
  }

  /** Whom to close for `newest`: itself, when all others are webhooks under way. */
  function victim(newest: Connection): Connection {
    for (const kind of kinds) {
      const { idle, busy } = groups[kind];
      const found =
        firstBut(newest, idle) ??
        firstBut(newest, kind === 'webhooks' ? unfinished(busy, monotonicMs() - bodyMs) : busy);
      if (found !== null) return found;
    }
    return newest;
  }

  server.on('connection', (socket: Socket) => {
    const connection: Connection = { socket, kind: 'none', name: null, requests: new Map() };
    bySocket.set(socket, connection);
    put(connection);
    socket.once('close', () => {
      if (bySocket.delete(socket)) take(connection);
    });
    if (bySocket.size > limit) close(victim(connection));
  });

  return {
    begin: (request, proof) => {
      const connection = bySocket.get(request.socket);
      if (connection === undefined) return true;
      take(connection);
      connection.requests.set(request, monotonicMs());
      if (kinds.indexOf(proof.kind) >= kinds.indexOf(connection.kind)) {
        connection.kind = proof.kind;
        connection.name = proof.kind === 'api' ? proof.name : null;
      }
      put(connection);
      if (connection.name === null) return true;
      const { idle, busy } = groupOf(connection.name);
      if (idle.size + busy.size <= tokenLimit) return true;
      const longestIdle = firstBut(connection, idle);
      if (longestIdle !== null) close(longestIdle);
      return longestIdle !== null;
    },
    end: (request) => {
      const connection = bySocket.get(request.socket);
      if (connection === undefined || !connection.requests.has(request)) return;
      take(connection);
      connection.requests.delete(request);
      put(connection);
    },
  };
}

function firstBut(newest: Connection, connections: Iterable<Connection>): Connection | null {
  for (const connection of connections) if (connection !== newest) return connection;
  return null;
}

/** Connections with a request that began before `latest` and whose body is not whole. */
function* unfinished(busy: Iterable<Connection>, latest: number): Iterable<Connection> {
  for (const connection of busy) {
    const since = [...connection.requests].find(([request]) => !request.complete)?.[1];
    if (since !== undefined && since <= latest) yield connection;
  }
}
