/**
 * One address for the webhooks of several desks, as a load balancer in front of them would have: a connection goes to the
 * next desk that takes it, and ends with that desk.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export type Balancer = { close: () => Promise<void> };

export async function createBalancer(port: number, targets: readonly number[]): Promise<Balancer> {
  const sockets = new Set<Socket>();
  let turn = 0;

  const keep = (socket: Socket, other: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  };

  /** Nobody takes it: the sender finds its connection closed and comes again. */
  const offer = (client: Socket, left: number): void => {
    if (left === 0 || client.destroyed) {
      client.destroy();
      return;
    }
    turn += 1;
    const desk = connect(targets[turn % targets.length]!, '127.0.0.1');
    const refused = () => offer(client, left - 1);
    desk.once('error', refused);
    desk.once('connect', () => {
      desk.off('error', refused);
      keep(desk, client);
      keep(client, desk);
      client.pipe(desk).pipe(client);
    });
  };

  const server = createServer((client) => {
    client.on('error', () => undefined);
    offer(client, targets.length);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
