// The leases of managers as the store had them: until when each tenure lasted, by the store's own clock.
import { managerLease } from '../../../src/baremetal/model.ts';
import type { LeaseChange } from '../../world/store-port.ts';
import type { World } from '../../world/world.ts';

export class LeaseBook {
  readonly #world: World;
  readonly #untilMs = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  note({ before, after }: LeaseChange): void {
    const { nowMs } = this.#world.scheduler;
    if (before !== undefined && after?.epoch !== before.epoch) this.#end(before.name, before.epoch, nowMs);
    if (after !== undefined) this.#untilMs.set(`${after.name}/${after.epoch}`, nowMs + Math.max(0, after.expiresInMs));
  }

  #end(name: string, epoch: number, nowMs: number): void {
    const key = `${name}/${epoch}`;
    this.#untilMs.set(key, Math.min(nowMs, this.#untilMs.get(key) ?? nowMs));
  }

  /** In the world's time; before the world when the store never gave that lease. */
  untilMs(manager: string, leaseEpoch: number): number {
    return this.#untilMs.get(`${managerLease(manager)}/${leaseEpoch}`) ?? -1;
  }
}
