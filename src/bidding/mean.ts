/** A decaying mean of what was measured last. */
export type Mean = {
  add: (value: number) => void;
  /** Null before the first value. */
  value: () => number | null;
};

const samples = 16;

export function createMean(): Mean {
  let mean: number | null = null;
  return {
    add: (value) => {
      mean = mean === null ? value : mean + (value - mean) / samples;
    },
    value: () => mean,
  };
}
