// Commands for workers, one at a time, on whatever exists at the moment: in any order. Some of it makes no sense, and is refused.
import { idOf, type FleetReader } from '../../../src/fleet/index.ts';
import {
  BUILDERS,
  Builders,
  createInstances,
  deleteInstances,
  INSTANCE,
  moveInstances,
  rebuildInstances,
  shelveInstance,
  unshelveInstance,
  usesOf,
  type Disruption,
  type Instance,
} from '../../../src/instances/index.ts';
import { HOST } from '../../../src/hosts/index.ts';
import { addWorkers, joinInstances } from '../../../src/kubernetes/join/decide.ts';
import { WORKER_JOIN } from '../../../src/kubernetes/join/model.ts';
import { composeToken } from '../../../src/kubernetes/join/new-token.ts';
import { WORKER } from '../../../src/kubernetes/index.ts';
import type { StoredWorker } from '../../../src/kubernetes/workers/transitions.ts';
import {
  drainWorkers,
  removeWorkers,
  returnWorkers,
  type DrainRequest,
} from '../../../src/kubernetes/workers/decide.ts';
import type { Decision } from '../../../src/journal/index.ts';
import { cancelOperation, OPERATION, retryOperation, type OperationId } from '../../../src/operations/index.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { OperatorCommand } from '../../world/operator.ts';
import type { Incarnation } from '../../world/server.ts';
import { SIM_SECRETS } from '../../world/secrets.ts';
import type { World } from '../../world/world.ts';
import { once, plain } from '../commands.ts';
import { PROJECT } from '../instance-setup.ts';
import { ADOPTABLE, LAN } from './setup.ts';

type MaybeCommand = OperatorCommand<unknown> | undefined;
type Draw = (by: string) => MaybeCommand;

/** Some are over while pods leave. */
const DRAIN_DEADLINES_MS = [4000, 15_000, 60_000, 60_000, 300_000];
const DEADLINE_MS = 400_000;
const WORKERS_MAX = 7;
/** Of what is cancelled and retried. */
const OWN_KINDS = ['worker-add', 'worker-drain', 'worker-remove', 'worker-return', 'worker-rejoin', 'worker-evacuate'];

interface LongCommand {
  readonly operation: OperationId;
  readonly by: string;
  readonly nowMs: number;
}

export class KubernetesActions {
  readonly #world: World;
  readonly #rng: Rng;
  readonly #builders: Builders;

  constructor(world: World) {
    this.#world = world;
    this.#rng = world.rng.fork();
    this.#builders = new Builders(world.composition.all(BUILDERS));
  }

  /** Of whoever looks after workers; undefined when there is nothing to apply it to. */
  nextOfOperator(by: string): MaybeCommand {
    return this.#rng
      .pickWeighted<{ readonly weight: number; readonly draw: Draw }>([
        { weight: 16, draw: (tag) => this.#add(tag) },
        { weight: 4, draw: (tag) => this.#join(tag) },
        { weight: 18, draw: (tag) => this.#drain(tag, drainWorkers) },
        { weight: 12, draw: (tag) => this.#drain(tag, removeWorkers) },
        { weight: 14, draw: (tag) => this.#return(tag) },
        { weight: 9, draw: (tag) => this.#cancel(tag) },
        { weight: 9, draw: (tag) => this.#retry(tag) },
      ])
      .draw(by);
  }

  /** Of whoever owns the instances. */
  nextOfUser(by: string): MaybeCommand {
    return this.#rng
      .pickWeighted<{ readonly weight: number; readonly draw: Draw }>([
        { weight: 12, draw: (tag) => this.#create(tag) },
        { weight: 6, draw: (tag) => this.#disrupt(tag, 'delete') },
        { weight: 10, draw: (tag) => this.#disrupt(tag, 'move') },
        { weight: 3, draw: (tag) => this.#disrupt(tag, 'shelve') },
        { weight: 8, draw: (tag) => this.#unshelve(tag) },
        { weight: 14, draw: (tag) => this.#rebuild(tag) },
      ])
      .draw(by);
  }

  /** An instance by the name of each Node that is to be adopted, and some workers that Muster makes. */
  firstRequests(): OperatorCommand<unknown>[] {
    const created = ADOPTABLE.slice(0, 2).flatMap((name) => this.#createNamed(`first-${name}`, name));
    return [...created, this.#add('first-add-1') ?? [], this.#add('first-add-2') ?? []].flat();
  }

  #workers(fits: (worker: StoredWorker) => boolean = () => true): StoredWorker[] {
    return [...this.#world.truth.all(WORKER)].filter(fits);
  }

  /** Started once, however often it is requested. */
  #long(
    by: string,
    decide: (fleet: FleetReader, command: LongCommand, life: Incarnation) => Decision<unknown>,
  ): OperatorCommand<unknown> {
    const operation = idOf(OPERATION, `op-${by}`);
    const isStarted = (fleet: FleetReader): boolean => fleet.get(OPERATION, operation) !== undefined;
    return once(by, isStarted, (fleet, nowMs, life) => decide(fleet, { operation, by, nowMs }, life));
  }

  #add(by: string): MaybeCommand {
    const rng = this.#rng;
    const count = rng.chance(0.7) ? 1 : 2;
    if (this.#workers().length + count > WORKERS_MAX) return undefined;
    const { name: cluster } = rng.pick(this.#world.clusters);
    const joinDeadlineMs = rng.pick([20_000, 120_000, 120_000]);
    return this.#long(by, (fleet, command, life) => {
      const ids = Array.from({ length: count }, () => life.ids.next('worker'));
      const request = { ...command, cluster, count, ids, joinDeadlineMs, ...drawnToken(life, command.operation) };
      return addWorkers(fleet, { ...request, template: TEMPLATE }, this.#builders);
    });
  }

  /** An instance that is there becomes a worker. */
  #join(by: string): MaybeCommand {
    const instance = this.#pick(this.#instances(({ state }) => state === 'active'));
    const cluster = this.#world.clusters[0]?.name;
    if (instance === undefined || cluster === undefined || this.#workers().length >= WORKERS_MAX) return undefined;
    return this.#long(by, (fleet, command, life) =>
      joinInstances(fleet, {
        ...{ ...command, cluster, workers: [{ node: instance, instance }] },
        ...drawnToken(life, command.operation),
      }),
    );
  }

  #drain(by: string, decide: (fleet: FleetReader, request: DrainRequest) => Decision<unknown>): MaybeCommand {
    const rng = this.#rng;
    const { name: cluster } = rng.pick(this.#world.clusters);
    const nodes = this.#workers(({ doc }) => doc.cluster === cluster).map(({ doc }) => doc.node);
    if (nodes.length === 0) return undefined;
    const named = [...new Set(Array.from({ length: rng.between(1, 3) }, () => rng.pick(nodes)))];
    const workers = rng.chance(0.25) ? { count: Math.min(nodes.length, rng.between(1, 2)) } : { nodes: named };
    const policy = {
      deadlineMs: rng.pick(DRAIN_DEADLINES_MS),
      ...(rng.chance(0.5) && { evictBare: rng.chance(0.8) }),
      ...(rng.chance(0.1) && { keepEmptyDir: true }),
    };
    return this.#long(by, (fleet, command) => decide(fleet, { ...command, cluster, workers, policy }));
  }

  #return(by: string): MaybeCommand {
    const fit = this.#workers(({ doc: { state } }) => state === 'drained' || state === 'draining');
    if (fit.length === 0) return undefined;
    const { cluster } = this.#rng.pick(fit).doc;
    const nodes = fit.filter(({ doc }) => doc.cluster === cluster && this.#rng.chance(0.7)).map(({ doc }) => doc.node);
    if (nodes.length === 0) return undefined;
    return this.#long(by, (fleet, command) => returnWorkers(fleet, { ...command, cluster, nodes }));
  }

  #cancel(by: string): MaybeCommand {
    return this.#withOperation('running', (id) =>
      plain(by, (fleet, nowMs) => cancelOperation(fleet, { id, kinds: this.#world.composition.operationKinds, nowMs })),
    );
  }

  #retry(by: string): MaybeCommand {
    return this.#withOperation('failed', (id) =>
      plain(by, (fleet, nowMs) => retryOperation(fleet, { id, kinds: this.#world.composition.operationKinds, nowMs })),
    );
  }

  #withOperation(state: string, act: (id: string) => OperatorCommand<unknown>): MaybeCommand {
    const found = [...this.#world.truth.all(OPERATION)].filter(
      ({ doc }) => doc.state === state && OWN_KINDS.includes(doc.kind),
    );
    return found.length === 0 ? undefined : act(this.#rng.pick(found).id);
  }

  #instances(fits: (doc: Instance) => boolean): string[] {
    return [...this.#world.truth.all(INSTANCE)].filter(({ doc }) => fits(doc)).map(({ id }): string => id);
  }

  #pick(ids: readonly string[]): string | undefined {
    return ids.length === 0 ? undefined : this.#rng.pick(ids);
  }

  /** By the names of Nodes that are to be adopted, and one that is not. */
  #create(by: string): MaybeCommand {
    const names = [...ADOPTABLE, 'v1'].filter(
      (name) => this.#world.truth.get(INSTANCE, idOf(INSTANCE, name)) === undefined,
    );
    const name = this.#pick(names);
    return name === undefined ? undefined : this.#createNamed(by, name);
  }

  #createNamed(by: string, name: string): OperatorCommand<unknown> {
    const { project, networks, flavor } = TEMPLATE;
    return this.#long(by, (fleet, command, { ids, hasCredentials }) =>
      createInstances(fleet, {
        ...{
          ...command,
          name,
          count: 1,
          minCount: 1,
          flavor,
          project,
          networks,
          place: {},
          admin: true,
          attemptsMax: 3,
        },
        ...{ portIds: [ids.next('port')], hasCredentials: hasCredentials(), deadlineMs: DEADLINE_MS },
      }),
    );
  }

  #disrupt(by: string, disruption: Extract<Disruption, 'delete' | 'move' | 'shelve'>): MaybeCommand {
    const rng = this.#rng;
    const id = this.#pick(this.#instances(({ state }) => state === 'active'));
    if (id === undefined) return undefined;
    const isForced = rng.chance(0.35);
    const kind = rng.pick(['live', 'cold'] as const);
    const uses = usesOf(this.#world.composition);
    return this.#long(by, (fleet, command, { hasCredentials }) => {
      const how = { ...command, deadlineMs: DEADLINE_MS };
      return uses.decide<unknown>(fleet, { id, disruption, isForced, ...command }, () => {
        switch (disruption) {
          case 'delete':
            return deleteInstances(fleet, { ids: [id], ...how }, this.#builders);
          case 'move':
            return moveInstances(fleet, { ids: [id], kind, ...how });
          case 'shelve':
            return shelveInstance(fleet, { id, ...how, hasCredentials: hasCredentials() });
        }
      });
    });
  }

  #unshelve(by: string): MaybeCommand {
    const id = this.#pick(this.#instances(({ state }) => state === 'shelved'));
    if (id === undefined) return undefined;
    return this.#long(by, (fleet, command, { hasCredentials }) =>
      unshelveInstance(fleet, { id, ...command, deadlineMs: DEADLINE_MS, hasCredentials: hasCredentials() }),
    );
  }

  #rebuild(by: string): MaybeCommand {
    const { truth, composition } = this.#world;
    const isLost = ({ host, state, wasActive }: Instance): boolean =>
      wasActive &&
      (state === 'active' || state === 'error') &&
      (host === undefined || truth.get(HOST, idOf(HOST, host))?.doc.forcedDown !== undefined);
    const id = this.#pick(this.#instances(isLost));
    if (id === undefined) return undefined;
    return this.#long(by, (fleet, command) =>
      rebuildInstances(fleet, { ids: [id], ...command, deadlineMs: DEADLINE_MS }, usesOf(composition)),
    );
  }
}

const TEMPLATE = {
  ...{ flavor: 'tiny', project: PROJECT, place: {}, networks: [{ network: LAN }] },
  ...{ admin: true, hasCredentials: true },
};

function drawnToken({ ids }: Incarnation, operation: string) {
  return { token: composeToken(ids, (secret) => SIM_SECRETS.seal({ kind: WORKER_JOIN.name, id: operation }, secret)) };
}
