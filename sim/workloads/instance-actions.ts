// Users' commands for instances, one at a time, on whatever exists at the moment.
import { idOf, type FleetReader } from '../../src/fleet/index.ts';
import {
  beginEvacuation,
  clearForceDown,
  disableHost,
  enableHost,
  forceDownHost,
  HOST,
  planEvacuation,
} from '../../src/hosts/index.ts';
import { editHost } from '../../src/hosts/decide.ts';
import {
  createInstances,
  deleteInstances,
  INSTANCE,
  moveInstances,
  rebuildInstances,
  shelveInstance,
  unshelveInstance,
  type Instance,
} from '../../src/instances/index.ts';
import { accept, refuse } from '../../src/journal/index.ts';
import { createPort, deletePort, editSubnet } from '../../src/network/decisions-fixture.ts';
import { PORT, type RequestedNetworks } from '../../src/network/index.ts';
import {
  cancelOperation,
  OPERATION,
  retryOperation,
  type OperationId,
  type OperationKind,
} from '../../src/operations/index.ts';
import { INSTANCE_EVACUATOR } from '../../src/instances/reference-fixture.ts';
import type { Rng } from '../kernel/rng.ts';
import type { OperatorCommand } from '../world/operator.ts';
import type { World } from '../world/world.ts';
import { once, onceByKey, plain, type Decide } from './commands.ts';
import {
  drawPhysicalNetworks,
  FLAVORS,
  GROUPS,
  PROJECT,
  type InstanceSetup,
  type NetworkPlan,
} from './instance-setup.ts';

type ActionMaker = (tag: string) => OperatorCommand<unknown> | undefined;

/** The weights of commands, where they differ between worlds. */
interface ActionWeights {
  readonly create?: number;
  readonly forceDown?: number;
  readonly remap?: number;
}

interface LongCommand {
  readonly operation: OperationId;
  readonly by: string;
  readonly nowMs: number;
  readonly deadlineMs: number;
}

/** Few, so that names are used again while something of the previous one may be left. */
const NAMES = ['v1', 'v2', 'v3', 'v4', 'v5', 'v6', 'v7', 'v8', 'v9'];
/** Some are short, so that deadlines pass in the middle of an operation. */
const DEADLINES_MS = [8000, 40_000, 400_000, 400_000, 400_000, 400_000];

export class InstanceActions {
  readonly #world: World;
  readonly #setup: Pick<InstanceSetup, 'networks' | 'hosts'>;
  readonly #weights: ActionWeights;
  readonly #rng: Rng;
  readonly #kinds: ReadonlyMap<string, OperationKind>;

  constructor(world: World, ground: Pick<InstanceSetup, 'networks' | 'hosts'>, weights: ActionWeights = {}) {
    this.#world = world;
    this.#setup = ground;
    this.#weights = weights;
    this.#rng = world.rng.fork();
    this.#kinds = world.composition.operationKinds;
  }

  /** The next request; undefined when there is nothing to apply it to. */
  next(tag: string): OperatorCommand<unknown> | undefined {
    const { create = 30, forceDown = 4, remap = 7 } = this.#weights;
    const act = this.#rng.pickWeighted<{ readonly weight: number; readonly act: ActionMaker }>([
      { weight: create, act: (by) => this.#create(by) },
      { weight: 14, act: (by) => this.#delete(by) },
      { weight: 14, act: (by) => this.#move(by) },
      { weight: 5, act: (by) => this.#shelve(by) },
      { weight: 6, act: (by) => this.#unshelve(by) },
      { weight: forceDown, act: (by) => this.#forceDown(by) },
      { weight: 8, act: (by) => this.#rebuild(by) },
      { weight: 5, act: (by) => this.#clear(by) },
      { weight: remap, act: (by) => this.#remap(by) },
      { weight: 4, act: (by) => this.#maintain(by) },
      { weight: 2, act: (by) => this.#evacuate(by) },
      { weight: 3, act: (by) => this.#cancel(by) },
      { weight: 3, act: (by) => this.#retry(by) },
      { weight: 5, act: (by) => this.#newPort(by) },
      { weight: 2, act: (by) => this.#dropPort(by) },
      { weight: 2, act: (by) => this.#resizePool(by) },
    ]);
    return act.act(tag);
  }

  #instances(fits: (doc: Instance) => boolean = () => true): string[] {
    return [...this.#world.truth.all(INSTANCE)].filter(({ doc }) => fits(doc)).map(({ id }): string => id);
  }

  /** A long operation. It is started once, however often it is requested. */
  #longCommand(
    by: string,
    decide: (fleet: FleetReader, command: LongCommand, life: Parameters<Decide>[2]) => ReturnType<Decide>,
  ) {
    const operation = idOf(OPERATION, `op-${by}`);
    const deadlineMs = this.#rng.pick(DEADLINES_MS);
    const isStarted = (fleet: FleetReader): boolean => fleet.get(OPERATION, operation) !== undefined;
    return once(by, isStarted, (fleet, nowMs, life) => decide(fleet, { operation, by, nowMs, deadlineMs }, life));
  }

  #create(by: string): OperatorCommand<unknown> {
    const rng = this.#rng;
    const count = rng.chance(0.7) ? 1 : rng.between(2, 4);
    const request = {
      name: this.#drawName(),
      count,
      minCount: rng.between(1, count),
      flavor: rng.pick(FLAVORS),
      project: PROJECT,
      place: this.#drawPlace(),
      networks: this.#drawNetworks(count),
      attemptsMax: rng.between(1, 4),
      admin: true,
    };
    const nics = request.networks.length * count;
    return this.#longCommand(by, (fleet, command, { ids, hasCredentials }) => {
      const portIds = Array.from({ length: nics }, () => ids.next('port'));
      return createInstances(fleet, { ...request, ...command, portIds, hasCredentials: hasCredentials() });
    });
  }

  #drawName(): string {
    const free = NAMES.filter((name) => this.#world.truth.get(INSTANCE, idOf(INSTANCE, name)) === undefined);
    return this.#rng.pick(free.length === 0 ? NAMES : free);
  }

  #drawPlace(): Instance['place'] {
    const rng = this.#rng;
    return {
      ...(rng.chance(0.3) && { group: rng.pick(GROUPS) }),
      ...(rng.chance(0.05) && { onlyHost: rng.pick(this.#setup.hosts).name }),
      ...(rng.chance(0.05) && { site: 'central' }),
    };
  }

  #drawNetworks(count: number): RequestedNetworks & unknown[] {
    const rng = this.#rng;
    return Array.from({ length: rng.pick([0, 1, 1, 1, 2, 3]) }, () => {
      const network = rng.pick(this.#setup.networks);
      const ports = count > 1 ? [] : [...this.#world.truth.all(PORT)].filter(({ doc }) => doc.createdBy === 'user');
      if (ports.length > 0 && rng.chance(0.35)) return { port: rng.pick(ports).id };
      if (count === 1 && rng.chance(0.15)) return { network: network.name, fixedIp: fixedIp(rng, network) };
      return { network: network.name };
    });
  }

  #delete(by: string): OperatorCommand<unknown> | undefined {
    const ids = this.#some(this.#instances());
    return (
      ids &&
      this.#longCommand(by, (fleet, command) => {
        const decision = deleteInstances(fleet, { ids, ...command });
        // Another user deletes them already: this request leaves nothing in the journal, and must not be searched there.
        const isTheirs = decision.kind === 'accept' && decision.answer.operation !== command.operation;
        return isTheirs ? refuse({ kind: 'conflict', code: 'being-deleted', message: 'By another caller.' }) : decision;
      })
    );
  }

  #move(by: string): OperatorCommand<unknown> | undefined {
    const rng = this.#rng;
    const ids = this.#some(this.#instances(({ state }) => state === 'active'));
    const how = {
      kind: rng.pick(['live', 'cold'] as const),
      ...(rng.chance(0.2) && { target: rng.pick(this.#setup.hosts).name }),
    };
    return ids && this.#longCommand(by, (fleet, command) => moveInstances(fleet, { ids, ...how, ...command }));
  }

  #shelve(by: string): OperatorCommand<unknown> | undefined {
    const [id] = this.#some(this.#instances(({ state }) => state === 'active')) ?? [];
    if (id === undefined) return undefined;
    return this.#longCommand(by, (fleet, command, { hasCredentials }) =>
      shelveInstance(fleet, { id, ...command, hasCredentials: hasCredentials() }),
    );
  }

  #unshelve(by: string): OperatorCommand<unknown> | undefined {
    const [id] = this.#some(this.#instances(({ state }) => state === 'shelved')) ?? [];
    if (id === undefined) return undefined;
    return this.#longCommand(by, (fleet, command, { hasCredentials }) =>
      unshelveInstance(fleet, { id, ...command, hasCredentials: hasCredentials() }),
    );
  }

  /** Mostly a host that seems dead; the operator who fences it may be wrong. */
  #forceDown(by: string): OperatorCommand<unknown> | undefined {
    const rng = this.#rng;
    const hosts = [...this.#world.truth.all(HOST)];
    const dead = hosts.filter(({ doc }) => doc.connection.state !== 'up');
    const from = dead.length > 0 && rng.chance(0.7) ? dead : hosts;
    if (from.length === 0) return undefined;
    const { id } = rng.pick(from);
    return plain(by, (fleet, nowMs) => forceDownHost(fleet, { id, reason: by, by, nowMs }));
  }

  #rebuild(by: string): OperatorCommand<unknown> | undefined {
    const { truth } = this.#world;
    const lost = ({ host, state, wasActive }: Instance): boolean => {
      const down = host === undefined || truth.get(HOST, idOf(HOST, host))?.doc.forcedDown !== undefined;
      return down && wasActive && (state === 'active' || state === 'error');
    };
    const ids = this.#some(this.#instances(lost));
    return ids && this.#longCommand(by, (fleet, command) => rebuildInstances(fleet, { ids, ...command }));
  }

  #clear(by: string): OperatorCommand<unknown> | undefined {
    const hosts = [...this.#world.truth.all(HOST)].filter(({ doc }) => doc.forcedDown !== undefined);
    if (hosts.length === 0) return undefined;
    const { id } = this.#rng.pick(hosts);
    return plain(by, (fleet, nowMs) => clearForceDown(fleet, { id, by, nowMs }));
  }

  #remap(by: string): OperatorCommand<unknown> {
    const { name: id } = this.#rng.pick(this.#setup.hosts);
    const edit = { physicalNetworks: drawPhysicalNetworks(this.#rng) };
    return plain(by, (fleet, nowMs) => editHost(fleet, { id, edit, by, nowMs }));
  }

  #maintain(by: string): OperatorCommand<unknown> {
    const { name: id } = this.#rng.pick(this.#setup.hosts);
    return this.#rng.chance(0.2)
      ? plain(by, (fleet, nowMs) => disableHost(fleet, { id, reason: by, by, nowMs }))
      : plain(by, (fleet, nowMs) => enableHost(fleet, { id, by, nowMs }));
  }

  #evacuate(by: string): OperatorCommand<unknown> {
    const { name: host } = this.#rng.pick(this.#setup.hosts);
    return plain(by, (fleet, nowMs) => {
      const leaver = { host, tenants: INSTANCE_EVACUATOR.inventory(fleet, host) };
      const planned = planEvacuation(fleet, INSTANCE_EVACUATOR, [leaver], { nowMs });
      const going = planned.filter(({ evacuation }) => evacuation.kind !== 'wait');
      const how = { operation: idOf(OPERATION, `op-${by}`), by, nowMs, deadlineMs: 120_000 };
      const decision = beginEvacuation(fleet, INSTANCE_EVACUATOR, going, how);
      return 'code' in decision ? refuse(decision) : accept(decision.changes, null);
    });
  }

  #cancel(by: string): OperatorCommand<unknown> | undefined {
    return this.#withOperation(
      ({ state }) => state === 'running',
      (id) => plain(by, (fleet, nowMs) => cancelOperation(fleet, { id, kinds: this.#kinds, nowMs })),
    );
  }

  #retry(by: string): OperatorCommand<unknown> | undefined {
    return this.#withOperation(
      ({ state }) => state === 'failed',
      (id) => plain(by, (fleet, nowMs) => retryOperation(fleet, { id, kinds: this.#kinds, nowMs })),
    );
  }

  #withOperation(
    fits: (doc: { readonly state: string }) => boolean,
    act: (id: string) => OperatorCommand<unknown>,
  ): OperatorCommand<unknown> | undefined {
    const found = [...this.#world.truth.all(OPERATION)].filter(({ doc }) => doc.kind !== 'host-join' && fits(doc));
    return found.length === 0 ? undefined : act(this.#rng.pick(found).id);
  }

  #newPort(by: string): OperatorCommand<unknown> {
    const rng = this.#rng;
    const network = rng.pick(this.#setup.networks);
    const fixed = rng.pick([undefined, undefined, [], [{ ip: fixedIp(rng, network) }]]);
    const request = { id: `user-${by}`, network: network.name, ...(fixed !== undefined && { fixedIps: fixed }) };
    return onceByKey(by, (fleet, nowMs) => createPort(fleet, { ...request, admin: true, by, nowMs }));
  }

  #dropPort(by: string): OperatorCommand<unknown> | undefined {
    const ports = [...this.#world.truth.all(PORT)].filter(({ doc }) => doc.createdBy === 'user');
    if (ports.length === 0) return undefined;
    const { id } = this.#rng.pick(ports);
    const operation = idOf(OPERATION, `op-${by}`);
    return plain(by, (fleet, nowMs) => deletePort(fleet, { id, operation, by, nowMs }));
  }

  /** Grows and shrinks at its end, where addresses were requested by name. */
  #resizePool(by: string): OperatorCommand<unknown> {
    const { name: id, first, last } = this.#rng.pick(this.#rng.pick(this.#setup.networks).subnets);
    const edit = { pools: [{ first, last: this.#rng.chance(0.5) ? first : last }] };
    return plain(by, (fleet, nowMs) => editSubnet(fleet, { id, edit, by, nowMs }));
  }

  #some(ids: readonly string[]): string[] | undefined {
    if (ids.length === 0) return undefined;
    const picked = this.#rng.chance(0.8) ? [this.#rng.pick(ids)] : [this.#rng.pick(ids), this.#rng.pick(ids)];
    return [...new Set(picked)];
  }
}

/** The last address of a pool: the others are picked from the other end. */
function fixedIp(rng: Rng, { subnets }: NetworkPlan): string {
  return rng.pick(subnets).last;
}
