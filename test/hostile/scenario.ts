/** One attack on, or one mishap of, the real daemon. Each file of `scenarios/` exports one as `scenario`. */

export type Figures = Readonly<Record<string, number | string | boolean>>;

export type Scenario = {
  /** The line of the list of defects that it proves mended. */
  line: number;
  /** What is done to the daemon, in a few words. */
  name: string;
  /**
   * In an empty directory that is removed afterwards. Throws when the daemon did not hold; resolves to what was measured, with the
   * figure `skipped` where the machine lacks something, which it names.
   */
  run: (directory: string) => Promise<Figures>;
};
