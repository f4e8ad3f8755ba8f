/** How many connections may be open: when there are too many, the oldest that has shown no valid token makes room. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export type Connections = {
  /** Its sender has a valid token: it is not closed for others. */
  prove: (socket: Socket) => void;
};

/** `onClosed` hears of each connection that had to make room. */
export function limitConnections(server: Server, limit: number, onClosed: () => void): Connections {
  /** In the order they came. */
  const unproven = new Set<Socket>();
  let open = 0;
  server.on('connection', (socket: Socket) => {
    open += 1;
    unproven.add(socket);
    socket.once('close', () => {
      open -= 1;
      unproven.delete(socket);
    });
    if (open <= limit) return;
    const oldest = unproven.values().next().value ?? socket;
    unproven.delete(oldest);
    oldest.destroy();
    onClosed();
  });
  return { prove: (socket) => void unproven.delete(socket) };
}
