// The inventory of bare-metal nodes as one incarnation of a server reaches it: every call takes a path that delays, loses and repeats. At its other end is the
// simulated inventory that ships with the product. What it says is gone is remembered for the checkers.
import { valueOf } from '../../../src/fleet/index.ts';
import {
  InventoryUnavailable,
  type InventoryCallOptions,
  type Inventory,
} from '../../../src/baremetal/drivers/inventory.ts';
import { SIMULATED_INVENTORY } from '../../../src/baremetal/drivers/simulated/settings.ts';
import type { Program, ReplyHandle } from '../../kernel/program.ts';
import type { Rng } from '../../kernel/rng.ts';
import { NetworkPath, type CallFate } from '../network-path.ts';
import type { World } from '../world.ts';

export class InventoryPath {
  readonly path = new NetworkPath();
  readonly rng: Rng;
  /** The nodes of which it was said, at some time, that there are none such. */
  readonly gone = new Set<string>();

  constructor(rng: Rng) {
    this.rng = rng;
  }
}

/** Machines that compare no epochs take whatever reaches them. */
export function areMachinesBlind({ truth }: Pick<World, 'truth'>): boolean {
  return !valueOf(truth, SIMULATED_INVENTORY).checksEpochs;
}

/** What it does otherwise; everything else goes to the inventory itself. */
export function withMethods(inventory: Inventory, methods: Partial<Inventory>): Inventory {
  return new Proxy(inventory, {
    get: (target, key): unknown => {
      const other: unknown = Reflect.get(methods, key);
      if (other !== undefined) return other;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

interface InventoryCaller {
  readonly world: World;
  readonly program: Program;
}

export function inventoryPort(inventory: Inventory, { world, program }: InventoryCaller): Inventory {
  const calls = new InventoryCalls(world, program);
  return withMethods(inventory, {
    list: (after, limit, how) => calls.exchange('list', how, () => inventory.list(after, limit, how)),
    find: (node, how) =>
      calls.exchange('find', how, async () => {
        const found = await inventory.find(node, how);
        if (found === 'gone') world.inventory?.gone.add(node);
        return found;
      }),
    claim: (request, how) => calls.exchange(`claim ${request.node}`, how, (at) => inventory.claim(request, at)),
    unclaim: (fence, how) => calls.exchange(`unclaim ${fence.node}`, how, (at) => inventory.unclaim(fence, at)),
  });
}

class InventoryCalls {
  readonly #world: World;
  readonly #program: Program;

  constructor(world: World, program: Program) {
    this.#world = world;
    this.#program = program;
  }

  exchange<T>(name: string, how: InventoryCallOptions, serve: (how: InventoryCallOptions) => Promise<T>): Promise<T> {
    const { inventory } = this.#world;
    if (inventory === undefined) return serve(how);
    const fate = this.#draw(inventory);
    return this.#program.call('inventory', name, (reply) => {
      if (fate.kind !== 'served') this.#world.fault(this.#program.name, `${name} ${fate.kind}`);
      // What is on its way arrives all the same.
      how.signal.addEventListener(
        'abort',
        () => void reply.fail(0, new InventoryUnavailable('its caller does not wait any more')),
        {
          once: true,
        },
      );
      const alone = new AbortController().signal;
      switch (fate.kind) {
        case 'served':
          return this.#deliver(name, fate.requestMs, () => this.#serve(() => serve(how), reply, fate.replyMs));
        case 'repeated':
          this.#deliver(name, fate.requestMs, () => this.#serve(() => serve(how), reply, fate.replyMs));
          return this.#deliver(name, fate.againMs, () => this.#serve(() => serve({ signal: alone })));
        case 'request-lost':
          return timeOut(reply, fate.afterMs);
        case 'reply-lost':
        case 'served-late':
          timeOut(reply, fate.afterMs);
          return this.#deliver(name, fate.requestMs, () => this.#serve(() => serve({ signal: alone })));
      }
    });
  }

  /** One that compares no epochs takes what arrives late for new: nothing protects it, so that no call is late there. */
  #draw({ path, rng }: InventoryPath): CallFate {
    const fate = path.draw(rng);
    if (!areMachinesBlind(this.#world)) return fate;
    if (fate.kind === 'repeated') return { ...fate, againMs: fate.requestMs };
    return fate.kind === 'served-late' ? { kind: 'request-lost', afterMs: fate.afterMs } : fate;
  }

  /** A call that a dead process had not sent is not there. */
  #deliver(name: string, afterMs: number, serve: () => Promise<void>): void {
    const { scheduler, inventory } = this.#world;
    scheduler.after(afterMs, `inventory gets ${name} of ${this.#program.name}`, () => {
      if (this.#program.alive || inventory?.rng.chance(0.5) === true) void serve();
    });
  }

  async #serve<T>(serve: () => Promise<T>, reply?: ReplyHandle<T>, replyMs = 1): Promise<void> {
    try {
      const answer = await serve();
      reply?.answer(replyMs, answer);
    } catch (error) {
      reply?.fail(replyMs, error instanceof Error ? error : new Error(String(error)));
    }
  }
}

function timeOut(reply: ReplyHandle<unknown>, afterMs: number | undefined): void {
  if (afterMs !== undefined) reply.fail(afterMs, new InventoryUnavailable('the way to the inventory broke'));
}
