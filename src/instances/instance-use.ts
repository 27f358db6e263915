// What other modules have running on instances, and how they keep requests from ending it by the way. Modules contribute it: instances do not know what runs on them. It is
// consulted by requests of people alone; what modules do with their own instances passes it by.
import { extensionPoint, type Composition } from '../composition/index.ts';
import { Type } from 'typebox';
import { idOf, type Change, type FleetReader, type Refusal } from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import type { StoredInstance } from './build/placement.ts';
import { INSTANCE } from './model.ts';

/** What a request does to an instance that ends or interrupts what runs on it. */
export type Disruption = 'delete' | 'move' | 'shelve' | 'power-off';

export interface UseNote {
  readonly by: string;
  readonly nowMs: number;
}

export interface DisruptedUse extends UseNote {
  readonly disruption: Disruption;
}

export interface DisruptingRequest extends DisruptedUse {
  readonly id: string;
  readonly isForced: boolean;
}

export interface InstanceUse {
  /** Why this is not done to the instance, and the command that is right; undefined when nothing speaks against it. */
  readonly denyDisruption: (
    fleet: FleetReader,
    instance: StoredInstance,
    disruption: Disruption,
  ) => Refusal | undefined;
  /** Committed with a request that is forced all the same. */
  readonly recordForced: (fleet: FleetReader, instance: StoredInstance, forced: DisruptedUse) => readonly Change[];
  /** Committed with the beginning of a rebuild: what ran there is lost, and the instance comes back empty. */
  readonly recordLoss: (fleet: FleetReader, instance: StoredInstance, note: UseNote) => readonly Change[];
}

export const INSTANCE_USES = extensionPoint<InstanceUse>('instance-uses');

export class InstanceUses {
  readonly #all: readonly InstanceUse[];

  constructor(all: readonly InstanceUse[]) {
    this.#all = all;
  }

  denyDisruption(fleet: FleetReader, id: string, disruption: Disruption): Refusal | undefined {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, id));
    if (instance === undefined) return undefined;
    for (const use of this.#all) {
      const denied = use.denyDisruption(fleet, instance, disruption);
      if (denied !== undefined) return denied;
    }
    return undefined;
  }

  /** The decision on a request for an instance, unless what runs there speaks against it and it is not forced. */
  decide<A>(fleet: FleetReader, request: DisruptingRequest, decideRequest: () => Decision<A>): Decision<A> {
    const { id, isForced, disruption, by, nowMs } = request;
    const denied = this.denyDisruption(fleet, id, disruption);
    if (denied === undefined) return decideRequest();
    if (!isForced) return refuse(denied);
    const decision = decideRequest();
    if (decision.kind === 'refuse' || decision.changes.length === 0) return decision;
    return accept([...decision.changes, ...this.#recordForced(fleet, id, { disruption, by, nowMs })], decision.answer);
  }

  #recordForced(fleet: FleetReader, id: string, forced: DisruptedUse): Change[] {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, id));
    return instance === undefined ? [] : this.#all.flatMap((use) => use.recordForced(fleet, instance, forced));
  }

  recordLoss(fleet: FleetReader, instance: StoredInstance, { by, nowMs }: UseNote): Change[] {
    return this.#all.flatMap((use) => use.recordLoss(fleet, instance, { by, nowMs }));
  }
}

/** For whoever has nothing running on instances. */
export const UNUSED = new InstanceUses([]);

export const FORCE = Type.Optional(
  Type.Boolean({
    description:
      'also of an instance that something runs on which this ends or interrupts, such as a worker of a cluster',
  }),
);

export function usesOf(composition: Composition): InstanceUses {
  return new InstanceUses(composition.all(INSTANCE_USES));
}
