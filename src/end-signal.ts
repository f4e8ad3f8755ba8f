/**
 * The signals that ask a process to end. Listened to before the program is loaded, which takes as long as a start: the first process of a container
 * is not ended by a signal that it does not listen to.
 */
const signals = ['SIGINT', 'SIGTERM'] as const;

/** There is nothing yet that an end at once could lose. */
function endAtOnce(): void {
  process.exit(0);
}

if (process.argv[2] === 'run') for (const signal of signals) process.on(signal, endAtOnce);

/** Resolves with the signal that asked the process to end. From here on it is for the caller to end it. */
export function endSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of signals) {
      process.once(signal, () => resolve(signal));
      // After it: a signal that has come and is not told yet is lost with the last listener.
      process.removeListener(signal, endAtOnce);
    }
  });
}
