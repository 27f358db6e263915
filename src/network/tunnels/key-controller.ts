// Gives numbers to networks, segments and routers that were made by a version that gave none. Whoever gets the lease looks once.
import { accept, LeaseHolderLoop, type Clock, type Journal, type LeasePass, type Log } from '../../journal/index.ts';
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
  readonly #loop: LeaseHolderLoop;

  constructor(options: TunnelKeyControllerOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'tunnel-keys',
      reconcile: (pass) => this.#allocateAll(pass),
      intervalMs: INTERVAL_MS,
      isSilent: true,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  async reconcile(): Promise<void> {
    await this.#loop.reconcile();
  }

  /** Once in each term: what is made in it has its number. */
  async #allocateAll({ isNewTerm }: LeasePass): Promise<void> {
    if (!isNewTerm) return;
    let all = 0;
    for (let allocated = await this.#allocateMissing(); allocated > 0; allocated = await this.#allocateMissing())
      all += allocated;
    if (all > 0) this.#options.log.info({ keys: all }, 'numbers for tunnels given to what had none');
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
