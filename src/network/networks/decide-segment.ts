// Decides on segments: create and delete. A segment is never edited: hosts and subnets depend on all of it.
import { idOf, put, remove, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { nameTaken } from './decide.ts';
import { PORTS_BY_SEGMENT, SEGMENT, SEGMENTS_BY_SEGMENTATION, segmentationKey, type Segment } from '../model.ts';
import { conflict, invalid, unknownResource } from '../refusal.ts';
import { findNetwork, topologyOf, type StoredSegment } from './topology.ts';
import { allocateTunnelKey, releaseTunnelKey } from '../tunnels/keys.ts';

export interface CreateSegment extends Omit<Segment, 'dynamic' | 'changedBy' | 'changedAtMs'> {
  readonly dynamic?: boolean;
  readonly by: string;
  readonly nowMs: number;
}

const VLAN_MAX = 4094;

export function createSegment(fleet: FleetReader, command: CreateSegment): Decision<Segment> {
  const { by, nowMs, ...said } = command;
  const id = idOf(SEGMENT, said.name);
  if (fleet.get(SEGMENT, id) !== undefined) return refuse(nameTaken('segment', id));
  if (findNetwork(fleet, said.network) === undefined)
    return refuse(unknownResource('network', said.network, '/network'));
  const segment: Segment = { dynamic: false, ...said, changedBy: by, changedAtMs: nowMs };
  const problem = segmentTypeProblem(segment) ?? segmentationTaken(fleet, segment);
  if (problem !== undefined) return refuse(problem);
  const requestedKey = segment.type === 'vxlan' ? segment.segmentationId : undefined;
  return accept([put(SEGMENT, id, segment), allocateTunnelKey(fleet, { for: 'segment', id }, requestedKey)], segment);
}

/** The fields that the type of a segment requires: flat and VLAN need a physical network, tunnels have none. */
function segmentTypeProblem({ type, physicalNetwork, segmentationId }: Segment): Refusal | undefined {
  const physical = type === 'flat' || type === 'vlan';
  if (physical && physicalNetwork === undefined) {
    const message = `A ${type} segment lies on a physical network. Name the one that its hosts report.`;
    return invalid('physical-network-required', message, { field: '/physicalNetwork' });
  }
  if (!physical && physicalNetwork !== undefined) {
    const message = `A ${type} segment is a tunnel between hosts and lies on no physical network. Leave it out.`;
    return invalid('physical-network-not-allowed', message, { field: '/physicalNetwork' });
  }
  if (segmentationId === undefined) return undefined;
  const field = '/segmentationId';
  if (type === 'flat') {
    const message = 'A flat segment has no segmentation id. Leave it out, or make the segment a VLAN.';
    return invalid('segmentation-id-not-allowed', message, { field });
  }
  if (segmentationId >= 1 && (type !== 'vlan' || segmentationId <= VLAN_MAX)) return undefined;
  const most = type === 'vlan' ? VLAN_MAX : 2 ** 24 - 1;
  const message = `The segmentation id of a ${type} segment is between 1 and ${most}, not ${segmentationId}. Choose one of these.`;
  return invalid('segmentation-id-out-of-range', message, { field });
}

/** One physical network carries one flat segment, and each VLAN once; a tunnel's number is used once. */
function segmentationTaken(fleet: FleetReader, segment: Segment): Refusal | undefined {
  if (segment.type !== 'flat' && segment.segmentationId === undefined) return undefined;
  for (const other of fleet.find(SEGMENTS_BY_SEGMENTATION, segmentationKey(segment))) {
    const message = `Segment "${other.id}" of network "${other.doc.network}" is the same layer-2 network. Choose another physical network or segmentation id.`;
    const field = segment.type === 'flat' ? '/physicalNetwork' : '/segmentationId';
    return conflict('segmentation-taken', message, { field, facts: { segment: other.id } });
  }
  return undefined;
}

export function deleteSegment(fleet: FleetReader, { id }: { readonly id: string }): Decision<StoredSegment> {
  const stored = fleet.get(SEGMENT, idOf(SEGMENT, id));
  if (stored === undefined) return refuse(unknownResource('segment', id));
  const { network } = stored.doc;
  const subnets = topologyOf(fleet)
    .subnetsOf(network)
    .filter(({ doc }) => doc.segment === id);
  if (subnets.length > 0) {
    const message = `Segment "${id}" still has ${subnets.length === 1 ? 'a subnet. Delete that first.' : `${subnets.length} subnets. Delete those first.`}`;
    const facts = { segment: id, subnets: subnets.map((one) => one.id) };
    return refuse(conflict('segment-has-subnets', message, { facts }));
  }
  // Ports that never have an address.
  for (const port of fleet.find(PORTS_BY_SEGMENT, id)) {
    const message = `Port "${port.id}" is bound on segment "${id}". Delete or move its instance first.`;
    return refuse(conflict('segment-in-use', message, { facts: { segment: id, port: port.id } }));
  }
  return accept([remove(SEGMENT, stored.id), ...releaseTunnelKey(fleet, { for: 'segment', id })], stored);
}
