// Commands for bare metal, one at a time, on whatever exists at the moment: instances, reservations by body, nodes, managers, and faults of simulated machines.
import { armFault, type ArmFault } from '../../../src/baremetal/drivers/simulated/faults.ts';
import { MANAGER, NODE, RESERVATION } from '../../../src/baremetal/index.ts';
import { forgetManager } from '../../../src/baremetal/managers/decide.ts';
import { drainManager, undrainManager } from '../../../src/baremetal/managers/drain.ts';
import { rebalanceManagers } from '../../../src/baremetal/managers/rebalance.ts';
import { pauseManager, resumeManager } from '../../../src/baremetal/managers/pause.ts';
import { deleteNode, enterMaintenance, leaveMaintenance } from '../../../src/baremetal/nodes/decide.ts';
import { enrolNode } from '../../../src/baremetal/nodes/enrol.ts';
import { releaseReservation } from '../../../src/baremetal/reservations/release.ts';
import { idOf, put, type FleetReader } from '../../../src/fleet/index.ts';
import {
  BUILDERS,
  Builders,
  createInstances,
  deleteInstances,
  INSTANCE,
  type Instance,
} from '../../../src/instances/index.ts';
import { accept, refuse } from '../../../src/journal/index.ts';
import { cancelOperation, OPERATION, retryOperation } from '../../../src/operations/index.ts';
import type { Rng } from '../../kernel/rng.ts';
import { decideReservation } from '../../world/managers/manager-routes.ts';
import type { OperatorCommand } from '../../world/operator.ts';
import type { World } from '../../world/world.ts';
import { once, onceByKey, plain, type Decide } from '../commands.ts';
import { PROJECT } from '../instance-setup.ts';
import { METAL, NETWORK, type BaremetalSetup } from './setup.ts';

/** Few, so that names are used again while something of the previous one may be left. */
const NAMES = ['b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7'];
/** For reservations by hand, beside the names of instances. */
const OUTSIDERS = ['x1', 'x2', 'x3'];
/** Some pass in the middle of a build. */
const DEADLINES_MS = [8000, 25_000, 400_000, 400_000, 400_000, 400_000];

type Maker = (by: string) => OperatorCommand<unknown> | undefined;
type FaultDraw = Pick<ArmFault, 'op' | 'outcome'>;

const FAULTS: readonly FaultDraw[] = [
  { op: 'deploy', outcome: 'failed' },
  { op: 'deploy', outcome: 'applied-but-lost' },
  { op: 'deploy', outcome: 'hang' },
  { op: 'deploy', outcome: 'unavailable' },
  { op: 'clean', outcome: 'failed' },
  { op: 'clean', outcome: 'applied-but-lost' },
  { op: 'clean', outcome: 'unavailable' },
  { op: 'clean', outcome: 'hang' },
  { op: 'connect', outcome: 'failed' },
  { op: 'connect', outcome: 'applied-but-lost' },
  { op: 'power', outcome: 'failed' },
  { op: 'power', outcome: 'applied-but-lost' },
  { op: 'claim', outcome: 'failed' },
  { op: 'claim', outcome: 'hang' },
  { op: 'claim', outcome: 'unavailable' },
  { op: 'claim', outcome: 'applied-but-lost' },
];

export class BaremetalActions {
  readonly #world: World;
  readonly #setup: BaremetalSetup;
  readonly #rng: Rng;
  readonly #builders: Builders;

  constructor(world: World, setup: BaremetalSetup) {
    this.#world = world;
    this.#setup = setup;
    this.#rng = world.rng.fork();
    this.#builders = new Builders(world.composition.all(BUILDERS));
  }

  /** The next request of a user; undefined when there is nothing to apply it to. */
  nextOfUser(by: string): OperatorCommand<unknown> | undefined {
    return this.#draw(by, [
      { weight: 30, make: (tag) => this.#create(tag) },
      { weight: 16, make: (tag) => this.#delete(tag) },
      { weight: 16, make: (tag) => this.#power(tag) },
      { weight: 10, make: (tag) => this.#reserve(tag) },
      { weight: 8, make: (tag) => this.#release(tag) },
      { weight: 4, make: (tag) => this.#cancel(tag) },
      { weight: 4, make: (tag) => this.#retry(tag) },
    ]);
  }

  nextOfOperator(by: string): OperatorCommand<unknown> | undefined {
    return this.#draw(by, [
      { weight: 10, make: (tag) => this.#drain(tag) },
      { weight: 12, make: (tag) => this.#undrain(tag) },
      { weight: 6, make: (tag) => this.#rebalance(tag) },
      { weight: 5, make: (tag) => this.#pause(tag) },
      { weight: 6, make: (tag) => this.#resume(tag) },
      { weight: 4, make: (tag) => this.#forget(tag) },
      { weight: 6, make: (tag) => this.#maintain(tag) },
      { weight: 8, make: (tag) => this.#serve(tag) },
      { weight: 5, make: (tag) => this.#remove(tag) },
      { weight: 8, make: (tag) => this.#enrol(tag) },
      { weight: 30, make: (tag) => this.#arm(tag) },
    ]);
  }

  #draw(
    by: string,
    makers: readonly { readonly weight: number; readonly make: Maker }[],
  ): OperatorCommand<unknown> | undefined {
    return this.#rng.pickWeighted(makers).make(by);
  }

  #instances(fits: (doc: Instance) => boolean = () => true): string[] {
    return [...this.#world.truth.all(INSTANCE)].filter(({ doc }) => fits(doc)).map(({ id }): string => id);
  }

  #pick(ids: readonly string[]): string | undefined {
    return ids.length === 0 ? undefined : this.#rng.pick(ids);
  }

  #operation(
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
    const count = rng.chance(0.8) ? 1 : rng.between(2, 3);
    const networks = rng.chance(0.3) ? ('none' as const) : [{ network: NETWORK }];
    const request = {
      ...{ name: rng.pick(NAMES), count, minCount: count, flavor: rng.pick(METAL).name, project: PROJECT },
      ...{ place: rng.chance(0.8) ? {} : { site: rng.pick(['central', 'edge']) }, networks, image: 'debian' },
      ...{ attemptsMax: rng.between(1, 3), admin: true },
    };
    return this.#operation(by, (fleet, command, { ids, hasCredentials }) => {
      const portIds = Array.from({ length: networks === 'none' ? 0 : count }, () => ids.next('port'));
      const how = { ...request, ...command, portIds, hasCredentials: hasCredentials() };
      return createInstances(fleet, how, this.#builders);
    });
  }

  #delete(by: string): OperatorCommand<unknown> | undefined {
    const id = this.#pick(this.#instances());
    if (id === undefined) return undefined;
    return this.#operation(by, (fleet, { deadlineMs: _, ...command }) =>
      deleteInstances(fleet, { ids: [id], ...command, deadlineMs: DAY_MS }, this.#builders),
    );
  }

  #power(by: string): OperatorCommand<unknown> | undefined {
    const id = this.#pick(this.#instances(({ state }) => state === 'active'));
    if (id === undefined) return undefined;
    const power = this.#rng.pick(['on', 'off', 'off', 'reboot'] as const);
    return this.#operation(by, (fleet, command) => {
      const builder = this.#builders.forFlavor({ name: 'metal', bareMetal: {} });
      return builder.beginPower?.(fleet, { id, power, ...command }) ?? accept([], null);
    });
  }

  #reserve(by: string): OperatorCommand<unknown> | undefined {
    const rng = this.#rng;
    const manager = this.#pick([...this.#world.truth.all(MANAGER)].map(({ id }): string => id));
    if (manager === undefined) return undefined;
    const nodes = [...this.#world.truth.all(NODE)]
      .filter(({ doc }) => doc.state !== 'removed')
      .map(({ id }): string => id);
    const body = {
      instance_uuid: rng.pick(rng.chance(0.6) ? OUTSIDERS : NAMES),
      ...{ manager, memory_mb: rng.pick([0, 1024]), vcpus: rng.pick([0, 4]) },
      ...(rng.chance(0.3) && nodes.length > 0 && { candidate_nodes: [rng.pick(nodes)] }),
      ...(rng.chance(0.3) && { extra_specs: { 'trait:CUSTOM_GPU': rng.pick(['required', 'forbidden']) } }),
    };
    return onceByKey(by, (fleet, _nowMs, life) => decideReservation(this.#world, life, { fleet, body, by }));
  }

  #release(by: string): OperatorCommand<unknown> | undefined {
    const byHand = [...this.#world.truth.all(RESERVATION)].filter(({ doc }) => doc.request['build'] === undefined);
    const instance = this.#pick(byHand.map(({ id }): string => id));
    return instance === undefined ? undefined : releaseOf(instance, by);
  }

  #cancel(by: string): OperatorCommand<unknown> | undefined {
    const kinds = this.#world.composition.operationKinds;
    const id = this.#pick(
      [...this.#world.truth.all(OPERATION)].filter(({ doc }) => doc.state === 'running').map((one): string => one.id),
    );
    return id === undefined ? undefined : plain(by, (fleet, nowMs) => cancelOperation(fleet, { id, kinds, nowMs }));
  }

  #retry(by: string): OperatorCommand<unknown> | undefined {
    const kinds = this.#world.composition.operationKinds;
    const id = this.#pick(
      [...this.#world.truth.all(OPERATION)].filter(({ doc }) => doc.state === 'failed').map((one): string => one.id),
    );
    return id === undefined ? undefined : plain(by, (fleet, nowMs) => retryOperation(fleet, { id, kinds, nowMs }));
  }

  #manager(): string {
    return this.#rng.pick(this.#world.managers).name;
  }

  #drain(by: string): OperatorCommand<unknown> {
    const manager = this.#manager();
    return this.#operation(by, (fleet, command) => {
      const decision = drainManager(fleet, { manager, ...command });
      return decision.kind === 'refuse' ? decision : { ...decision, answer: { operation: decision.answer } };
    });
  }

  #rebalance(by: string): OperatorCommand<unknown> {
    return this.#operation(by, (fleet, command) => {
      const decision = rebalanceManagers(fleet, command);
      return decision.kind === 'refuse' ? decision : { ...decision, answer: { operation: decision.answer } };
    });
  }

  #undrain(by: string): OperatorCommand<unknown> {
    const manager = this.#manager();
    return plain(by, (fleet, nowMs) => undrainManager(fleet, { manager, by, nowMs }));
  }

  #pause(by: string): OperatorCommand<unknown> {
    const manager = this.#manager();
    return plain(by, (fleet, nowMs) => pauseManager(fleet, { manager, by, nowMs }));
  }

  #resume(by: string): OperatorCommand<unknown> {
    const manager = this.#manager();
    return plain(by, (fleet, nowMs) => resumeManager(fleet, { manager, by, nowMs }));
  }

  #forget(by: string): OperatorCommand<unknown> {
    const id = this.#manager();
    return plain(by, (fleet, nowMs) => forgetManager(fleet, { id, by, nowMs }));
  }

  #node(): string {
    return this.#rng.pick(this.#setup.nodes).name;
  }

  #maintain(by: string): OperatorCommand<unknown> {
    const id = this.#node();
    return plain(by, (fleet, nowMs) => enterMaintenance(fleet, { id, reason: 'new fan', by, nowMs }));
  }

  #serve(by: string): OperatorCommand<unknown> {
    const id = this.#node();
    return plain(by, (fleet, nowMs) => leaveMaintenance(fleet, { id, by, nowMs }));
  }

  #remove(by: string): OperatorCommand<unknown> {
    const id = this.#node();
    return plain(by, (fleet, nowMs) => deleteNode(fleet, { id, by, nowMs }));
  }

  #enrol(by: string): OperatorCommand<unknown> {
    const spec = this.#rng.pick(this.#setup.nodes);
    return plain(by, (fleet, nowMs) => {
      const enrolled = enrolNode(fleet, spec, { by, nowMs });
      if ('code' in enrolled) return refuse(enrolled);
      return accept(enrolled.outcome === 'unchanged' ? [] : [put(NODE, idOf(NODE, spec.name), enrolled.node)], null);
    });
  }

  #arm(by: string): OperatorCommand<unknown> {
    const rng = this.#rng;
    const fault = {
      ...rng.pick(FAULTS),
      ...(rng.chance(0.4) && { node: this.#node() }),
      ...{ delayMs: rng.pick([0, 0, 3000]), times: rng.pick([1, 1, 2, 4]) },
    };
    return onceByKey(by, (fleet, nowMs, { ids }) => armFault(fleet, { ...fault, id: ids.next('fault'), by, nowMs }));
  }
}

interface LongCommand {
  readonly operation: ReturnType<typeof idOf<'operation'>>;
  readonly by: string;
  readonly nowMs: number;
  readonly deadlineMs: number;
}

const DAY_MS = 24 * 3600 * 1000;

export function releaseOf(instance: string, by: string): OperatorCommand<unknown> {
  const operation = idOf(OPERATION, `op-${by}`);
  return onceByKey(by, (fleet, nowMs) => {
    const stored = fleet.get(RESERVATION, idOf(RESERVATION, instance));
    return releaseReservation(fleet, stored, { instance, operation, by, nowMs });
  });
}
