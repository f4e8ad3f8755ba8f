/** Where a process is told to die, for runs that show what a death there costs. */
import type { Step } from './bidding/observer.ts';
import type { FlowDurableStep } from './origination/desk.ts';

/**
 * `step:n` kills this process the n-th time it comes there, as `npm run crash` asks for; nothing is flushed or closed.
 * `step:n:SIGSTOP` freezes it there.
 */
export function crashAt(text: string | undefined): (step: Step | FlowDurableStep) => void {
  if (text === undefined) return () => undefined;
  const [name, times, signal = 'SIGKILL'] = text.split(':');
  let remaining = Number(times ?? 1);
  return (step) => {
    if (step !== name) return;
    remaining -= 1;
    if (remaining === 0) process.kill(process.pid, signal);
  };
}
