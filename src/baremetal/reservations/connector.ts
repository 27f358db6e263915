// How the ports of an instance come to its node, in the commit that reserves it. Instances that Muster builds bring one; a reservation for anybody
// else's instance has none, and nothing is connected for it.
import type { Change, FleetReader } from '../../fleet/index.ts';
import type { ChangeNote, StoredNode } from '../nodes/transitions.ts';

export interface NodeConnector {
  /** Whether nodes that are wired so can be connected to all that the instance is to be connected to. */
  readonly reaches: (physicalNetworks: ReadonlySet<string>) => boolean;
  /** The addresses and bindings of its ports on this node; undefined when there are none left there. */
  readonly connect: (fleet: FleetReader, node: StoredNode, change: ChangeNote) => readonly Change[] | undefined;
}

/** Undefined for an instance that Muster does not know. */
export type ConnectorOf = (fleet: FleetReader, instance: string) => NodeConnector | undefined;
