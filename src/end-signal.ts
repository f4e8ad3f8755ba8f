/**
 * The signals that ask a process to end. Listened to before the program is loaded, which takes as long as a start: the first process of a container
 * is not ended by a signal that it does not listen to. The file that a process is started with has to load the rest by `import()`, as lance.ts does:
 * what it names in `import` statements is loaded before any of it runs.
 */
export const endSignals = ['SIGINT', 'SIGTERM'] as const;

/** There is nothing yet that an end at once could lose. */
function endAtOnce(): void {
  process.exit(0);
}

/** Options that hold for every command, and the value of one, may stand before the name of the command. */
const words = process.argv.slice(2);
const command = words.find((word, index) => !word.startsWith('-') && words[index - 1] !== '--lang');
if (command === 'run') for (const signal of endSignals) process.on(signal, endAtOnce);

/** Resolves with the signal that asked the process to end. From here on it is for the caller to end it. */
export function endSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of endSignals) {
      process.once(signal, () => resolve(signal));
      // After it: a signal that has come and is not told yet is lost with the last listener.
      process.removeListener(signal, endAtOnce);
    }
  });
}
