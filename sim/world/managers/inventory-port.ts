// The inventory of bare-metal nodes as one incarnation of a server reaches it: every call takes a path that delays, loses and repeats. At its other end is the
// simulated inventory that ships with the product. What it says is gone is remembered for the checkers.
import { valueOf } from '../../../src/fleet/index.ts';
import {
  InventoryUnavailable,
  type CallOptions,
  type ClaimOutcome,
  type ClaimRequest,
  type Inventory,
  type InventoryNode,
  type InventoryPage,
  type NodeFence,
} from '../../../src/baremetal/drivers/inventory.ts';
import { SIMULATED_INVENTORY } from '../../../src/baremetal/drivers/simulated/settings.ts';
import type { Program, Reply } from '../../kernel/program.ts';
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

export class InventoryPort implements Inventory {
  readonly name;
  readonly #inventory: Inventory;
  readonly #world: World;
  readonly #program: Program;

  constructor(inventory: Inventory, { world, program }: { readonly world: World; readonly program: Program }) {
    this.name = inventory.name;
    this.#inventory = inventory;
    this.#world = world;
    this.#program = program;
  }

  claims(how?: CallOptions): ReturnType<Inventory['claims']> {
    return this.#inventory.claims(how);
  }

  list(after: string | undefined, limit: number, how: CallOptions): Promise<InventoryPage> {
    return this.#exchange('list', how, () => this.#inventory.list(after, limit, how));
  }

  async find(node: string, how: CallOptions): Promise<InventoryNode | 'gone'> {
    return this.#exchange('find', how, async () => {
      const found = await this.#inventory.find(node, how);
      if (found === 'gone') this.#world.inventory?.gone.add(node);
      return found;
    });
  }

  claim(request: ClaimRequest, how: CallOptions): Promise<ClaimOutcome> {
    return this.#exchange(`claim ${request.node}`, how, (at) => this.#inventory.claim(request, at));
  }

  unclaim(fence: NodeFence, how: CallOptions): Promise<ClaimOutcome> {
    return this.#exchange(`unclaim ${fence.node}`, how, (at) => this.#inventory.unclaim(fence, at));
  }

  #exchange<T>(name: string, how: CallOptions, serve: (how: CallOptions) => Promise<T>): Promise<T> {
    const { inventory } = this.#world;
    if (inventory === undefined) return serve(how);
    const fate = this.#draw(inventory);
    return this.#program.call('inventory', name, (reply) => {
      if (fate.kind !== 'served') this.#world.fault(this.#program.name, `${name} ${fate.kind}`);
      // Whoever has given it up is not told; what is on its way arrives all the same.
      how.signal.addEventListener('abort', () => void reply.fail(0, new InventoryUnavailable('given up')), {
        once: true,
      });
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
    if (valueOf(this.#world.truth, SIMULATED_INVENTORY).checksEpochs) return fate;
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

  async #serve<T>(serve: () => Promise<T>, reply?: Reply<T>, replyMs = 1): Promise<void> {
    try {
      const answer = await serve();
      reply?.answer(replyMs, answer);
    } catch (error) {
      reply?.fail(replyMs, error instanceof Error ? error : new Error(String(error)));
    }
  }
}

function timeOut(reply: Reply<unknown>, afterMs: number | undefined): void {
  if (afterMs !== undefined) reply.fail(afterMs, new InventoryUnavailable('the way to the inventory broke'));
}
