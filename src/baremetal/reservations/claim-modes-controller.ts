// How each inventory has claims made, as it said last: a decision needs it as a value. What is not known is taken for a claim outside, where the inventory itself says
// so. An inventory that is upgraded is used as it is then, without a restart.
import type { Clock, Log } from '../../journal/index.ts';
import { InventoryUnavailable, type Inventory } from '../drivers/inventory.ts';
import type { InventoryName } from '../model.ts';
import type { ClaimMode } from './reserve.ts';

export interface ClaimModesOptions {
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly inventories: ReadonlyMap<InventoryName, Inventory>;
}

const REFRESH_MS = 2000;

export class ClaimModesController {
  readonly #options: ClaimModesOptions;
  readonly #modes = new Map<InventoryName, ClaimMode>();
  /** Those that did not answer the last request. */
  readonly #silent = new Set<InventoryName>();

  constructor(options: ClaimModesOptions) {
    this.#options = options;
  }

  readonly modeOf = (inventory: InventoryName): ClaimMode => this.#modes.get(inventory) ?? 'unknown';

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.refresh();
      await this.#options.clock.sleep(REFRESH_MS, signal);
    }
  }

  async refresh(): Promise<void> {
    await Promise.all([...this.#options.inventories].map(([name, inventory]) => this.#ask(name, inventory)));
  }

  async #ask(name: InventoryName, inventory: Inventory): Promise<void> {
    try {
      this.#note(name, await inventory.claims());
    } catch (error) {
      if (!(error instanceof InventoryUnavailable)) throw error;
      if (!this.#silent.has(name))
        this.#options.log.warn({ inventory: name, why: error.message }, 'the inventory does not answer; retrying');
      this.#silent.add(name);
    }
  }

  #note(name: InventoryName, mode: ClaimMode): void {
    const { log } = this.#options;
    const former = this.#modes.get(name);
    this.#modes.set(name, mode);
    if (this.#silent.delete(name)) log.info({ inventory: name, claims: mode }, 'the inventory answers again');
    if (former !== undefined && former !== mode)
      log.info({ inventory: name, from: former, to: mode }, 'the inventory has claims made otherwise now');
  }
}
