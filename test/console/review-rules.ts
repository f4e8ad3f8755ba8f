/** Rules under which every request that would be bid for waits for a person. */
import { always, ruleOf } from '../rules/sample-request.ts';

export const reviewRules = [
  {
    path: 'reviews.json',
    text: JSON.stringify(
      ruleOf({
        name: 'Seen by a person',
        conditions: always,
        event: { type: 'review', params: { queue: 'all-of-them', minutes: 1 } },
      }),
    ),
  },
];
