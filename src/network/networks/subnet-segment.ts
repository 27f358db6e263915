// Decides which segment a subnet may be on. A network is routed throughout (every subnet has a segment) or not at all, and a segment is set
// once.
import { idOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { SEGMENT } from '../model.ts';
import { conflict, invalid, unknownResource } from '../refusal.ts';
import { stockOf } from '../addresses/stock.ts';
import { networkPool, topologyOf, type StoredSubnet } from './topology.ts';

/** What is wrong with a new subnet's segment, or with its absence. */
export function segmentProblem(fleet: FleetReader, network: string, segment: string | undefined): Refusal | undefined {
  const topology = topologyOf(fleet);
  const routed = topology.isRouted(network);
  if (segment === undefined) {
    if (!routed) return undefined;
    const message = `Network "${network}" is routed: each of its subnets is on a segment. Name the segment of this one.`;
    return invalid('subnet-without-segment', message, { field: '/segment', facts: { network } });
  }
  const problem = ownSegmentProblem(fleet, network, segment);
  if (problem !== undefined || routed || !topology.hasSubnets(network)) return problem;
  const message = `The other subnets of network "${network}" are on no segment, so this one may not be either. Leave the segment out, or give theirs one first.`;
  return invalid('subnet-with-segment', message, { field: '/segment', facts: { network } });
}

/** The segment exists, belongs to the network, and accepts subnets. */
function ownSegmentProblem(fleet: FleetReader, network: string, id: string): Refusal | undefined {
  const segment = fleet.get(SEGMENT, idOf(SEGMENT, id))?.doc;
  const field = '/segment';
  if (segment === undefined) return unknownResource('segment', id, field);
  if (segment.network !== network) {
    const message = `Segment "${id}" is one of network "${segment.network}", not of "${network}". Name one of its own.`;
    return invalid('segment-of-other-network', message, { field, facts: { segment: id, network: segment.network } });
  }
  if (!segment.dynamic) return undefined;
  const message = `Segment "${id}" was created by the network for itself and accepts no subnets. Name another.`;
  return invalid('segment-dynamic', message, { field, facts: { segment: id } });
}

/** A plain network becomes routed only while it has one segment and one subnet: then the assignment is unambiguous. */
export function conversionProblem(
  fleet: FleetReader,
  { id, doc }: StoredSubnet,
  segment: string | undefined,
): Refusal | undefined {
  const { network } = doc;
  const field = '/segment';
  if (doc.segment !== undefined || segment === undefined) {
    const message = `Subnet "${id}" is on segment "${doc.segment}", and that stays. Create another subnet for another segment.`;
    return conflict('segment-immutable', message, { field, facts: { subnet: id, segment: doc.segment } });
  }
  const problem = ownSegmentProblem(fleet, network, segment);
  if (problem !== undefined) return problem;
  const topology = topologyOf(fleet);
  const [subnets, segments] = [topology.subnetsOf(network).length, topology.segmentsOf(network).length];
  if (subnets !== 1 || segments !== 1) {
    const message = `Network "${network}" becomes routed only with exactly one segment and one subnet; it has ${segments} and ${subnets}. Delete the others first, or create a new network and give its subnets their segments at once.`;
    return conflict('conversion-ambiguous', message, { field, facts: { network, segments, subnets } });
  }
  const { claimed } = stockOf(fleet).figures(networkPool(network), doc.version);
  if (claimed === 0n) return undefined;
  const message = `${claimed} addresses of network "${network}" are claimed by instances that are being built. Wait until they are built.`;
  return conflict('addresses-promised', message, { field, facts: { network, promised: String(claimed) } });
}
