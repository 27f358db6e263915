// Runs the refresh of every inventory that this server was started with, and says so where there are nodes of one that it was not started with: no calls are made
// to that one.
import { accept, LeaseHolderLoop } from '../../journal/index.ts';
import type { Inventory } from '../drivers/inventory.ts';
import { INVENTORY_NAMES, type InventoryName } from '../model.ts';
import { countNodes, noteReachable, noteUnreachable } from './alarms.ts';
import { InventoryRefresh, type RefreshOptions } from './refresh-controller.ts';

export interface InventoriesOptions extends Omit<RefreshOptions, 'inventory'> {
  readonly inventories: ReadonlyMap<InventoryName, Inventory>;
}

const INTERVAL_MS = 30_000;
const NOT_CONFIGURED = 'the server that decides was started without its address';

export class InventoriesController {
  readonly #options: InventoriesOptions;
  readonly #refreshes: readonly InventoryRefresh[];
  readonly #loop: LeaseHolderLoop;

  constructor(options: InventoriesOptions) {
    this.#options = options;
    this.#refreshes = [...options.inventories.values()].map(
      (inventory) => new InventoryRefresh({ ...options, inventory }),
    );
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'inventories',
      reconcile: ({ nowMs }) => this.#noteMissing(nowMs),
      intervalMs: INTERVAL_MS,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#loop.run(signal), ...this.#refreshes.map((refresh) => refresh.run(signal))]);
  }

  async reconcile(): Promise<void> {
    await this.#loop.reconcile();
    for (const refresh of this.#refreshes) await refresh.reconcile();
  }

  async #noteMissing(sinceMs: number): Promise<void> {
    const { journal, inventories } = this.#options;
    const missing = INVENTORY_NAMES.filter((name) => name !== 'simulated' && !inventories.has(name));
    for (const inventory of missing) {
      const decide: Parameters<typeof journal.submit>[0]['decide'] = (fleet) =>
        accept(
          countNodes(fleet, inventory) === 0
            ? noteReachable(fleet, inventory)
            : noteUnreachable(fleet, { inventory, sinceMs, text: NOT_CONFIGURED }),
          null,
        );
      const decided = decide(journal.fleet);
      if (decided.kind === 'accept' && decided.changes.length > 0)
        await journal.submit({ by: 'inventories', why: `inventory ${inventory} is not configured`, decide });
    }
  }
}
