// What is done with the hosts that workers run on: they leave, are brought back, and are said to be off, rightly or not.
import {
  clearForceDown,
  evacuatorsOf,
  forceDownHost,
  HOST,
  recoverHosts,
  startScaleIn,
  type Host,
} from '../../../src/hosts/index.ts';
import { reAdmitHost } from '../../../src/hosts/join/re-admit.ts';
import { idOf } from '../../../src/fleet/index.ts';
import { INSTANCE } from '../../../src/instances/index.ts';
import { WORKER } from '../../../src/kubernetes/index.ts';
import { OPERATION, retryOperation } from '../../../src/operations/index.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { OperatorCommand } from '../../world/operator.ts';
import type { World } from '../../world/world.ts';
import { plain } from '../commands.ts';

type MaybeCommand = OperatorCommand<unknown> | undefined;

/** Some pass while workers are drained. */
const DEADLINES_MS = [15_000, 60_000, 4 * 3600_000, 4 * 3600_000];

export class HostActions {
  readonly #world: World;
  readonly #rng: Rng;

  constructor(world: World) {
    this.#world = world;
    this.#rng = world.rng.fork();
  }

  next(by: string): MaybeCommand {
    return this.#rng
      .pickWeighted<{ readonly weight: number; readonly draw: (tag: string) => MaybeCommand }>([
        { weight: 22, draw: (tag) => this.#start(tag) },
        { weight: 14, draw: (tag) => this.#recover(tag) },
        { weight: 9, draw: (tag) => this.#forceDown(tag) },
        { weight: 6, draw: (tag) => this.#clear(tag) },
        { weight: 8, draw: (tag) => this.#reAdmit(tag) },
        { weight: 4, draw: (tag) => this.#retry(tag) },
      ])
      .draw(by);
  }

  #hosts(fits: (doc: Host) => boolean): string[] {
    return [...this.#world.truth.all(HOST)].flatMap(({ id, doc }) => (fits(doc) ? [id] : []));
  }

  /** One or two, mostly with workers on them; not all, so that there is a place to go to. */
  #start(by: string): MaybeCommand {
    const rng = this.#rng;
    const active = this.#hosts(({ state }) => state === 'active');
    if (active.length < 3) return undefined;
    const occupied = [...this.#world.truth.all(WORKER)].flatMap(({ doc: { instance } }) => {
      const host = this.#world.truth.get(INSTANCE, idOf(INSTANCE, instance ?? ''))?.doc.host;
      return host !== undefined && active.includes(host) ? [host] : [];
    });
    const from = occupied.length > 0 && rng.chance(0.8) ? occupied : active;
    const hosts = [...new Set(Array.from({ length: rng.between(1, 2) }, () => rng.pick(from)))];
    const how = { operation: idOf(OPERATION, `op-${by}`), by, deadlineMs: rng.pick(DEADLINES_MS) };
    const evacuators = evacuatorsOf(this.#world.composition);
    return plain(by, (fleet, nowMs) => startScaleIn(fleet, evacuators, { ...how, hosts, drain: true, nowMs }));
  }

  #recover(by: string): MaybeCommand {
    const hosts = this.#hosts(({ leaving }) => leaving !== undefined);
    if (hosts.length === 0) return undefined;
    const how = { hosts: [this.#rng.pick(hosts)], failBack: false, operation: idOf(OPERATION, `op-${by}`), by };
    return plain(by, (fleet, nowMs) => recoverHosts(fleet, { ...how, nowMs }));
  }

  /** Mostly one that seems dead; whoever says so may be wrong. */
  #forceDown(by: string): MaybeCommand {
    const dead = this.#hosts(({ connection, state }) => connection.state !== 'up' && state !== 'removed');
    const from = dead.length > 0 ? dead : this.#hosts(({ state }) => state === 'draining');
    if (from.length === 0) return undefined;
    const id = this.#rng.pick(from);
    return plain(by, (fleet, nowMs) => forceDownHost(fleet, { id, reason: by, by, nowMs }));
  }

  #clear(by: string): MaybeCommand {
    const hosts = this.#hosts(({ forcedDown }) => forcedDown !== undefined);
    if (hosts.length === 0) return undefined;
    const id = this.#rng.pick(hosts);
    return plain(by, (fleet, nowMs) => clearForceDown(fleet, { id, by, nowMs }));
  }

  #reAdmit(by: string): MaybeCommand {
    const hosts = this.#hosts(({ quarantined }) => quarantined !== undefined);
    if (hosts.length === 0) return undefined;
    const id = this.#rng.pick(hosts);
    return plain(by, (fleet, nowMs) => reAdmitHost(fleet, { id, reason: by, by, nowMs }));
  }

  #retry(by: string): MaybeCommand {
    const { truth, composition } = this.#world;
    const failed = [...truth.all(OPERATION)].filter(({ doc }) => doc.state === 'failed' && doc.kind === 'scale-in');
    if (failed.length === 0) return undefined;
    const { id } = this.#rng.pick(failed);
    return plain(by, (fleet, nowMs) => retryOperation(fleet, { id, kinds: composition.operationKinds, nowMs }));
  }
}
