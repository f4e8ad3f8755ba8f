/** A curve in a few lines of text. */

const levels = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

export type Plotted = { x: number; y: number; forbidden: boolean };

/**
 * Columns of blocks, as high as the highest point of their part of the axis. Forbidden points are dots, what is not above
 * zero is empty. `mark` gets an arrow below the axis.
 */
export function plotText(
  points: readonly Plotted[],
  options: { width: number; height: number; mark: number; label: (x: number) => string; top: (y: number) => string },
): string[] {
  const { width, height, mark } = options;
  const first = points[0]!.x;
  const last = points.at(-1)!.x;
  const columns = Math.min(width, points.length);
  const columnOf = (x: number) => Math.min(columns - 1, Math.floor(((x - first) * columns) / (last - first + 1)));
  const heights = new Array<number>(columns).fill(0);
  const allowed = new Array<boolean>(columns).fill(false);
  for (const { x, y, forbidden } of points) {
    const column = columnOf(x);
    if (forbidden) continue;
    allowed[column] = true;
    heights[column] = Math.max(heights[column]!, y);
  }
  const highest = Math.max(...heights, 1);
  const eighths = heights.map((y) => Math.ceil((y / highest) * height * levels.length));
  const top = options.top(highest);
  const lines: string[] = [];
  for (let row = height - 1; row >= 0; row -= 1) {
    const cells = eighths.map((total, column) => {
      const here = total - row * levels.length;
      if (here > 0) return levels[Math.min(here, levels.length) - 1]!;
      return row === 0 && !allowed[column] ? '·' : ' ';
    });
    const margin = row === height - 1 ? top : '';
    lines.push(`${margin.padStart(top.length)} │${cells.join('')}`);
  }
  const indent = ' '.repeat(top.length);
  const left = options.label(first);
  const right = options.label(last);
  lines.push(`${indent} └${'─'.repeat(columns)}`);
  lines.push(`${indent}  ${' '.repeat(columnOf(mark))}▲ ${options.label(mark)}`);
  lines.push(`${indent}  ${left}${' '.repeat(Math.max(1, columns - left.length - right.length))}${right}`);
  return lines;
}
