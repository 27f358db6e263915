// Assigns tunnel keys to networks, segments and routers that were created by a version without keys. Each lease holder checks once per term.
import { accept, NotHolder, StoreUnavailable, type Clock, type Journal } from '../../journal/index.ts';
import type { Log } from '../../operations/index.ts';
import { allocateMissingTunnelKeys } from './keys.ts';

export interface TunnelKeyControllerOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

const INTERVAL_MS = 1000;
/** Small enough that nothing else waits for long. */
const KEYS_PER_COMMIT = 500;

export class TunnelKeyController {
  readonly #options: TunnelKeyControllerOptions;
  /** The term in which everything was found to have its key. */
  #completedEpoch: number | undefined;

  constructor(options: TunnelKeyControllerOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await this.reconcile();
      await clock.sleep(INTERVAL_MS, signal);
    }
  }

  async reconcile(): Promise<void> {
    const { journal, log } = this.#options;
    const epoch = journal.fence?.epoch;
    if (epoch === undefined || epoch === this.#completedEpoch) return;
    try {
      let all = 0;
      for (let given = await this.#allocateMissing(); given > 0; given = await this.#allocateMissing()) all += given;
      if (all > 0) log.info({ keys: all }, 'tunnel keys assigned to documents without one');
      this.#completedEpoch = epoch;
    } catch (error) {
      // The next pass tries again, here or at the next holder.
      if (!(error instanceof NotHolder) && !(error instanceof StoreUnavailable)) throw error;
    }
  }

  async #allocateMissing(): Promise<number> {
    const { journal } = this.#options;
    if (allocateMissingTunnelKeys(journal.fleet, 1).length === 0) return 0;
    const outcome = await journal.submit({
      by: 'network',
      why: 'tunnel keys',
      decide: (fleet) => {
        const changes = allocateMissingTunnelKeys(fleet, KEYS_PER_COMMIT);
        return accept(changes, changes.length);
      },
    });
    return outcome.kind === 'accepted' ? outcome.answer : 0;
  }
}
