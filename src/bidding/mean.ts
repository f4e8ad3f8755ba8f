/** Decaying means of what was measured last. */
export type Mean = {
  add: (value: number) => void;
  /** Null before the first value. */
  value: () => number | null;
};

/** The mean moved towards `value` by one of `samples` parts; null before the first value. */
export function moved(mean: number | null, value: number, samples: number): number {
  return mean === null ? value : mean + (value - mean) / samples;
}

const latestSamples = 16;

export function createMean(): Mean {
  let mean: number | null = null;
  return {
    add: (value) => {
      mean = moved(mean, value, latestSamples);
    },
    value: () => mean,
  };
}
