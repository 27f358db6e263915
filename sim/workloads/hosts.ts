// Hosts that join, fall silent and come back, with everything an operator does about them: sites, join tokens,
// operations that are cancelled and retried, maintenance. The machines run the real agent.
import { idOf, put, SETTING, type FleetReader } from '../../src/fleet/index.ts';
import { accept, type Decision } from '../../src/journal/index.ts';
import { createToken, secretText, TOKEN } from '../../src/access/index.ts';
import { clearForcedDown, disableHost, enableHost, forceDownHost, joinHosts, LIVENESS } from '../../src/hosts/index.ts';
import { cancelOperation, OPERATION, retryOperation, type OperationKind } from '../../src/operations/index.ts';
import { createSite, SITE } from '../../src/sites/index.ts';
import { Machine } from '../world/machine.ts';
import type { Command, Operator } from '../world/operator.ts';
import { sha256 } from '../world/parts.ts';
import type { Life } from '../world/server.ts';
import type { World } from '../world/world.ts';
import { hostsAtRest } from './hosts-at-rest.ts';
import type { Workload } from './workload.ts';

const SITES = ['central', 'edge'];
/** Shorter than by default, so that hosts are lost and found again within the time of a seed. */
const QUICK = { ...LIVENESS.fallback, suspectAfterMs: 8000, downAfterMs: 12_000, steadyMs: 1000 };
/** A machine that is never started keeps its operation waiting until the deadline. */
const NEVER_STARTED = 0.1;

type Decide = (fleet: FleetReader, life: Life, nowMs: number) => Decision<unknown>;

/** A command that may arrive twice: it finds what it made and leaves it. */
function once(tag: string, isDone: (fleet: FleetReader) => boolean, decide: Decide): Command<unknown> {
  return {
    tag,
    once: true,
    request: (life) => {
      const nowMs = life.clock.nowMs();
      return { by: tag, decide: (fleet) => (isDone(fleet) ? accept([], null) : decide(fleet, life, nowMs)) };
    },
  };
}

/** A command whose repetition does no harm, but is not told from the first. */
function plain(tag: string, decide: Decide): Command<unknown> {
  return {
    tag,
    once: false,
    request: (life) => {
      const nowMs = life.clock.nowMs();
      return { by: tag, decide: (fleet) => decide(fleet, life, nowMs) };
    },
  };
}

const isQuick = (fleet: FleetReader): boolean => fleet.get(SETTING, LIVENESS.name) !== undefined;

class HostsPlay {
  readonly #world: World;
  readonly #operator: Operator;
  readonly #kinds: ReadonlyMap<string, OperationKind>;
  readonly #operations: string[] = [];
  #tags = 0;

  constructor(world: World) {
    this.#world = world;
    this.#operator = world.newOperator('admin');
    this.#kinds = new Map(world.parts.operationKinds.map((kind) => [kind.name, kind]));
  }

  async run(): Promise<void> {
    await this.#prepare();
    const { rng } = this.#world;
    const hosts = rng.between(5, 40);
    for (let made = 0; made < hosts && this.#world.troubled;) {
      const batch = Math.min(hosts - made, rng.between(1, 15));
      await this.#join(Array.from({ length: batch }, (_, at) => `c${made + at + 1}`));
      made += batch;
      await this.#operator.pause(rng.between(10, 2000));
    }
    while (this.#world.troubled) {
      await this.#intervene();
      await this.#operator.pause(rng.between(50, 800));
    }
  }

  #tag(what: string): string {
    this.#tags += 1;
    return `admin-${this.#tags}-${what}`;
  }

  async #prepare(): Promise<void> {
    for (const name of SITES) {
      const tag = this.#tag(`site-${name}`);
      const there = (fleet: FleetReader): boolean => fleet.get(SITE, idOf(SITE, name)) !== undefined;
      await this.#insist(once(tag, there, (fleet, _life, nowMs) => createSite(fleet, { name, by: tag, nowMs })));
    }
    const tag = this.#tag('liveness');
    const change = (nowMs: number) => put(SETTING, LIVENESS.name, { value: QUICK, changedBy: tag, changedAtMs: nowMs });
    await this.#insist(once(tag, isQuick, (_fleet, _life, nowMs) => accept([change(nowMs)], null)));
  }

  /** Asks until it is done: without it the rest makes no sense. */
  async #insist(command: Command<unknown>): Promise<void> {
    while (this.#world.troubled && (await this.#operator.ask(command)) === undefined) await this.#operator.pause(500);
  }

  async #join(names: readonly string[]): Promise<void> {
    const { rng } = this.#world;
    const tag = this.#tag('join');
    const operation = idOf(OPERATION, `op-${tag}`);
    const hosts = names.map((name) => ({ name, site: rng.pick(SITES) }));
    const deadlineMs = rng.between(20_000, 200_000);
    const started = (fleet: FleetReader): boolean => fleet.get(OPERATION, operation) !== undefined;
    const join = once(tag, started, (fleet, _life, nowMs) =>
      joinHosts(fleet, { hosts, operation, deadlineMs, by: tag, nowMs }),
    );
    if ((await this.#operator.ask(join))?.kind !== 'accepted') return;
    this.#operations.push(operation);
    for (const { name, site } of hosts) this.#install(new Machine(name, site, this.#world));
  }

  /** Puts a join token on the machine, as an operator does by hand, and starts its agent; or forgets about it. */
  #install(machine: Machine): void {
    const { rng, scheduler, machines } = this.#world;
    machines.push(machine);
    machine.fit = !rng.chance(0.1);
    if (rng.chance(NEVER_STARTED)) return;
    void this.#giveToken(machine);
    scheduler.after(rng.between(0, 15_000), `${machine.name} is switched on`, () => machine.start());
  }

  async #giveToken(machine: Machine): Promise<void> {
    const tag = this.#tag(`token-${machine.name}`);
    const id = idOf(TOKEN, `tk-${tag}`);
    const secret = secretText(id, `${this.#world.rng.uint32()}`.padEnd(40, 'x'));
    const made = (fleet: FleetReader): boolean => fleet.get(TOKEN, id) !== undefined;
    const token = { name: tag, role: 'join' as const, host: machine.name, hash: sha256(secret), createdBy: tag };
    const outcome = await this.#world
      .newOperator(`installer-${machine.name}`)
      .ask(once(tag, made, (fleet, _life, nowMs) => createToken(fleet, { id, ...token, createdAtMs: nowMs })));
    if (outcome?.kind === 'accepted') machine.joinToken = secret;
  }

  /** Something an operator does on a whim. */
  async #intervene(): Promise<void> {
    const { rng, machines } = this.#world;
    if (machines.length === 0) return;
    const { name: id } = rng.pick(machines);
    const tag = this.#tag('whim');
    const operation = this.#operations.length === 0 ? 'op-none' : rng.pick(this.#operations);
    await this.#operator.ask(plain(tag, this.#whim(rng.below(12), { id, tag, operation })));
  }

  #whim(which: number, { id, tag, operation }: { id: string; tag: string; operation: string }): Decide {
    const kinds = this.#kinds;
    switch (which) {
      case 0:
        return (fleet, _life, nowMs) => forceDownHost(fleet, { id, reason: `whim ${tag}`, by: tag, nowMs });
      case 1:
        return (fleet, _life, nowMs) => clearForcedDown(fleet, { id, by: tag, nowMs });
      case 2:
        return (fleet, _life, nowMs) => cancelOperation(fleet, { id: operation, kinds, nowMs });
      case 3:
        return (fleet, _life, nowMs) => retryOperation(fleet, { id: operation, kinds, nowMs });
      case 4:
      case 5:
      case 6:
      case 7:
        return (fleet, _life, nowMs) => enableHost(fleet, { id, by: tag, nowMs });
      default:
        return (fleet, _life, nowMs) => disableHost(fleet, { id, reason: `whim ${tag}`, by: tag, nowMs });
    }
  }
}

export const hosts: Workload = {
  name: 'hosts',
  start: (world) => ({ over: new HostsPlay(world).run(), atRest: () => hostsAtRest(world) }),
};
