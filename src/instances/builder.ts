// The port to what builds instances, and the one way to it. Modules above this one bring builders for flavors of their own; the one on hosts is the
// first. Nothing here, nor in the rest of this module, may know what another builder does with a request.
import { extensionPoint, type Composition } from '../composition/index.ts';
import { idOf, type FleetReader, type Refusal } from '../fleet/index.ts';
import type { Decision } from '../journal/index.ts';
import type { PoolKey } from '../network/index.ts';
import type { OperationId } from '../operations/index.ts';
import type { ScheduleReport } from '../scheduler/index.ts';
import type { CreateInstances, ValidatedRequest } from './build/request.ts';
import type { OperationRequest } from './instance-operation.ts';
import { INSTANCE, type Flavor, type InstanceFault } from './model.ts';

export interface CreatedInstances {
  readonly operation: OperationId;
  readonly instances: readonly string[];
}

/** Where instances would be placed now, and why not all of them, if so. */
export interface Preview {
  readonly placed: readonly PreviewedPlace[];
  readonly report?: ScheduleReport;
  /** Of bare-metal nodes: how many are left after each stage. */
  readonly nodes?: InstanceFault['nodes'];
}

interface PreviewedPlace {
  readonly name: string;
  readonly host?: string;
  /** In place of a host: who would reserve a bare-metal node for it. */
  readonly manager?: string;
  readonly pools: readonly PoolKey[];
}

/** Of the bare-metal node that an instance is on. */
export interface NodeStatus {
  readonly state: string;
  readonly power: string;
  readonly epoch: number;
  /** Who acts on it; absent while it has no manager. */
  readonly manager?: string;
}

export interface DeleteInstances extends OperationRequest {
  readonly ids: readonly string[];
}

export const POWER_ACTIONS = ['on', 'off', 'reboot'] as const;
export type PowerAction = (typeof POWER_ACTIONS)[number];

export interface SwitchPower extends OperationRequest {
  readonly id: string;
  readonly power: PowerAction;
}

/** The requests on an instance that is there, besides its deletion. */
export type InstanceVerb = 'move' | 'shelve' | 'unshelve' | 'rebuild' | 'power';

export interface Builder {
  /** As its instances name it. Those on hosts name none. */
  readonly name: string;
  readonly buildsFlavor: (flavor: Pick<Flavor, 'bareMetal'>) => boolean;
  /** Why a flavor of its own is not made; besides what is checked of all. */
  readonly flavorProblem?: (flavor: Flavor) => Refusal | undefined;
  /** Why it does not take a request that is valid for every builder: flavor, place, names, networks and quota are. */
  readonly requestProblem?: (
    fleet: FleetReader,
    command: CreateInstances,
    request: ValidatedRequest,
  ) => Refusal | undefined;
  /** Begins the build, in the commit that accepts the request. */
  readonly begin: (
    fleet: FleetReader,
    command: CreateInstances,
    request: ValidatedRequest,
  ) => Decision<CreatedInstances>;
  /** The same choice as of `begin`, without a commit. */
  readonly preview: (fleet: FleetReader, command: CreateInstances, request: ValidatedRequest) => Preview | Refusal;
  /** Instances of this builder, in every state. A repetition answers the operation that deletes them already. */
  readonly beginDeletion: (
    fleet: FleetReader,
    command: DeleteInstances,
  ) => Decision<{ readonly operation: OperationId }>;
  /** Switches an instance on or off, or off and on; absent where `unsupported` has `power`. */
  readonly beginPower?: (fleet: FleetReader, command: SwitchPower) => Decision<{ readonly operation: OperationId }>;
  /** What is derived of an instance of its own when it is read. */
  readonly readStatus?: (fleet: FleetReader, id: string) => NodeStatus | undefined;
  /** The verbs that it lacks, with why and what to do instead: sentences that continue "cannot be moved:". */
  readonly unsupported: Readonly<Partial<Record<InstanceVerb, string>>>;
}

export const BUILDERS = extensionPoint<Builder>('builders');

/** The name of the builder on hosts, of which its instances say nothing. */
export const HOSTS = 'hosts';

export class Builders {
  readonly #all: readonly Builder[];

  constructor(all: readonly Builder[]) {
    this.#all = all;
  }

  /** Who builds instances of a flavor. */
  forFlavor(flavor: Pick<Flavor, 'name' | 'bareMetal'>): Builder {
    const builder = this.#all.find((one) => one.buildsFlavor(flavor));
    if (builder === undefined) throw new Error(`no builder for flavor "${flavor.name}"`);
    return builder;
  }

  /** Who built an instance. One that is not there has the builder on hosts, which refuses the request for it. */
  ofInstance(fleet: FleetReader, id: string): Builder {
    const name = fleet.get(INSTANCE, idOf(INSTANCE, id))?.doc.builder ?? HOSTS;
    const builder = this.#all.find((one) => one.name === name);
    if (builder === undefined) throw new Error(`no builder "${name}", which built instance "${id}"`);
    return builder;
  }

  /** Why an instance is not moved, shelved, and so on; undefined when its builder can do that. */
  verbProblem(fleet: FleetReader, id: string, verb: InstanceVerb): Refusal | undefined {
    const { name, unsupported } = this.ofInstance(fleet, id);
    const because = unsupported[verb];
    if (because === undefined) return undefined;
    const message = `Instance "${id}" cannot be ${PARTICIPLES[verb]}: ${because}`;
    return { kind: 'conflict', code: 'verb-unsupported', message, facts: { instance: id, verb, builder: name } };
  }
}

const PARTICIPLES: Readonly<Record<InstanceVerb, string>> = {
  power: 'switched on or off',
  move: 'moved',
  shelve: 'shelved',
  unshelve: 'unshelved',
  rebuild: 'rebuilt',
};

export function buildersOf(composition: Composition): Builders {
  return new Builders(composition.all(BUILDERS));
}
