// What runs for as long as a server does, in groups that end one after the other.

export interface Runner {
  run(signal: AbortSignal): Promise<void>;
}

/** Runs the parts of a server and stops them group by group, the last one first. */
export class RunnerGroups {
  readonly failed: Promise<never>;
  readonly #groups: { readonly over: AbortController; readonly ended: Promise<unknown> }[];

  constructor(...groups: readonly (readonly Runner[])[]) {
    let fail: (error: unknown) => void;
    this.failed = new Promise<never>((_, reject) => {
      fail = reject;
    });
    // The waiter gets the error; before there is one, it must not end the process.
    this.failed.catch(() => undefined);
    this.#groups = groups.map((runners) => {
      const over = new AbortController();
      const run = (runner: Runner): Promise<void> => runner.run(over.signal).catch((error: unknown) => fail(error));
      return { over, ended: Promise.all(runners.map(run)) };
    });
  }

  async stop(): Promise<void> {
    for (const { over, ended } of this.#groups.toReversed()) {
      over.abort();
      await ended;
    }
  }
}
