/** What `demo` says, in English. */
import type { Texts } from './texts.ts';

export const demoEn: Texts['demo'] = {
  progress: (open, queued, sending) => `open ${open}, queued ${queued}, sending ${sending}`,
  labels: {
    requests: 'Requests',
    bids: 'Bids',
    ends: 'Won, lost',
    passed: 'Passed',
    latency: 'Latency',
    surplus: 'Surplus',
    ruleSet: 'Rule set',
    auditor: 'Auditor',
  },
  ends: (won, lost, unsettled) => `${won}, ${lost}; unsettled ${unsettled}`,
  latency: (p50, p99) => `p50 ${p50} ms, p99 ${p99} ms from webhook to first byte`,
  share: (surplus, share) => `${surplus}: ${share} of what somebody who knows the distributions would have earned`,
  violations: (count) => (count === 0 ? 'no violations' : count === 1 ? '1 violation' : `${count} violations`),
  console: (url, token, minutes) => `Console: ${url}\nStart token (counts once, for ${minutes} minutes): ${token}\n`,
  stays: (url) => `${url} goes on; Ctrl-C ends it.`,
};
