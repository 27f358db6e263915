// Hosts that join, fall silent and come back, with all commands of an operator: sites, join tokens, operations that are cancelled and
// retried, maintenance. The machines run the real agent.
import { clearForceDown, disableHost, enableHost, forceDownHost } from '../../src/hosts/index.ts';
import { cancelOperation, retryOperation, type OperationKind } from '../../src/operations/index.ts';
import { HostMachine } from '../world/machine.ts';
import type { World } from '../world/world.ts';
import { Admin, SITES } from './admin.ts';
import { plain, type Decide } from './commands.ts';
import { checkHostsAtRest } from './hosts-at-rest.ts';
import type { Workload } from './workload.ts';

/** A machine that is never started keeps its operation waiting until the deadline. */
const NEVER_STARTED = 0.1;

class HostsPlay {
  readonly #world: World;
  readonly #admin: Admin;
  readonly #kinds: ReadonlyMap<string, OperationKind>;
  readonly #operations: string[] = [];

  constructor(world: World) {
    this.#world = world;
    this.#admin = new Admin(world);
    this.#kinds = world.composition.operationKinds;
  }

  async run(): Promise<void> {
    const { operator } = this.#admin;
    await this.#admin.prepare();
    const { rng } = this.#world;
    const hosts = rng.between(5, 40);
    for (let made = 0; made < hosts && this.#world.isTroubled;) {
      const batch = Math.min(hosts - made, rng.between(1, 15));
      await this.#join(Array.from({ length: batch }, (_, at) => `c${made + at + 1}`));
      made += batch;
      await operator.pause(rng.between(10, 2000));
    }
    while (this.#world.isTroubled) {
      await this.#intervene();
      await operator.pause(rng.between(50, 800));
    }
  }

  async #join(names: readonly string[]): Promise<void> {
    const { rng } = this.#world;
    const hosts = names.map((name) => ({ name, site: rng.pick(SITES) }));
    const operation = await this.#admin.join(hosts, rng.between(20_000, 200_000));
    if (operation === undefined) return;
    this.#operations.push(operation);
    for (const { name, site } of hosts) this.#install(new HostMachine(name, site, this.#world));
  }

  /** Puts a join token on the machine and starts its agent; or forgets to. */
  #install(machine: HostMachine): void {
    const { rng, scheduler, machines } = this.#world;
    machines.push(machine);
    machine.passesPreflight = !rng.chance(0.1);
    if (rng.chance(NEVER_STARTED)) return;
    void this.#admin.giveToken(machine);
    scheduler.after(rng.between(0, 15_000), `${machine.name} is switched on`, () => machine.start());
  }

  /** A random command of an operator. */
  async #intervene(): Promise<void> {
    const { rng, machines } = this.#world;
    if (machines.length === 0) return;
    const { name: id } = rng.pick(machines);
    const tag = this.#admin.tag('whim');
    const operation = this.#operations.length === 0 ? 'op-none' : rng.pick(this.#operations);
    await this.#admin.operator.ask(plain(tag, this.#whim(rng.below(12), { id, tag, operation })));
  }

  #whim(which: number, { id, tag, operation }: { id: string; tag: string; operation: string }): Decide {
    const kinds = this.#kinds;
    switch (which) {
      case 0:
        return (fleet, nowMs) => forceDownHost(fleet, { id, reason: `whim ${tag}`, by: tag, nowMs });
      case 1:
        return (fleet, nowMs) => clearForceDown(fleet, { id, by: tag, nowMs });
      case 2:
        return (fleet, nowMs) => cancelOperation(fleet, { id: operation, kinds, nowMs });
      case 3:
        return (fleet, nowMs) => retryOperation(fleet, { id: operation, kinds, nowMs });
      case 4:
      case 5:
      case 6:
      case 7:
        return (fleet, nowMs) => enableHost(fleet, { id, by: tag, nowMs });
      default:
        return (fleet, nowMs) => disableHost(fleet, { id, reason: `whim ${tag}`, by: tag, nowMs });
    }
  }
}

export const hosts: Workload = {
  name: 'hosts',
  start: (world) => ({ done: new HostsPlay(world).run(), atRest: () => checkHostsAtRest(world) }),
};
