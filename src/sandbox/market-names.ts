/** The markets that can be played; apart, so that a command line can name them without loading them. */
export const marketNames = ['segments', 'additive', 'season', 'shocks', 'edge', 'sparse', 'undercutter'] as const;
export type MarketName = (typeof marketNames)[number];
