// Decides on transport zones: create, edit, delete. Hosts may name a zone before it exists; a zone with hosts must never be deleted.
import { idOf, put, remove, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { DEFAULT_TRANSPORT_ZONE, transportZoneOf, type Host } from '../../hosts/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { nameTaken } from '../networks/decide.ts';
import { conflict, unknownResource } from '../refusal.ts';
import { TRANSPORT_ZONE, type StoredTransportZone, type TransportZone } from './transport-zone.ts';
import { HOSTS_BY_TRANSPORT_ZONE } from './endpoints.ts';

interface Requester {
  readonly by: string;
  readonly nowMs: number;
}

export interface CreateTransportZone extends Requester {
  readonly name: string;
  readonly mesh?: TransportZone['mesh'];
}

export function createTransportZone(
  fleet: FleetReader,
  { name, mesh = 'needed', by, nowMs }: CreateTransportZone,
): Decision<TransportZone> {
  const id = idOf(TRANSPORT_ZONE, name);
  if (fleet.get(TRANSPORT_ZONE, id) !== undefined) return refuse(nameTaken('transport-zone', name));
  const zone: TransportZone = { name, mesh, changedBy: by, changedAtMs: nowMs };
  return accept([put(TRANSPORT_ZONE, id, zone)], zone);
}

export interface EditTransportZone extends Requester {
  readonly id: string;
  readonly edit: { readonly mesh: TransportZone['mesh'] };
}

export function editTransportZone(
  fleet: FleetReader,
  { id, edit, by, nowMs }: EditTransportZone,
): Decision<TransportZone> {
  const stored = findTransportZone(fleet, id);
  if (stored === undefined) return refuse(unknownResource('transport-zone', id));
  const zone: TransportZone = { ...stored.doc, ...edit, changedBy: by, changedAtMs: nowMs };
  return accept([put(TRANSPORT_ZONE, stored.id, zone)], zone);
}

export function deleteTransportZone(
  fleet: FleetReader,
  { id }: { readonly id: string },
): Decision<StoredTransportZone> {
  const stored = findTransportZone(fleet, id);
  if (stored === undefined) return refuse(unknownResource('transport-zone', id));
  const hosts = fleet.countOf(HOSTS_BY_TRANSPORT_ZONE, id);
  return hosts === 0 ? accept([remove(TRANSPORT_ZONE, stored.id)], stored) : refuse(transportZoneInUse(id, hosts));
}

/** Without it their tunnels would be removed. */
function transportZoneInUse(zone: string, hosts: number): Refusal {
  const facts = { transportZone: zone, hosts };
  const [are, them] = hosts === 1 ? ['1 host is', 'it'] : [`${hosts} hosts are`, 'them'];
  if (zone === DEFAULT_TRANSPORT_ZONE) {
    const message = `${are} in the zone "${zone}", which is that of every host that names no other. Give ${them} another zone first.`;
    return conflict('default-zone-in-use', message, { facts });
  }
  const message = `${are} in the transport zone "${zone}". Give ${them} another zone first.`;
  return conflict('transport-zone-in-use', message, { facts });
}

/** The zone whose hosts a host has tunnels with: `parked` while the named zone is not defined, undefined without any. */
export function zoneOfHost(
  fleet: FleetReader,
  host: Pick<Host, 'transportZone'>,
): StoredTransportZone | 'undefined-zone' | undefined {
  const zone = findTransportZone(fleet, transportZoneOf(host));
  return zone ?? (host.transportZone === undefined ? undefined : 'undefined-zone');
}

function findTransportZone(fleet: FleetReader, id: string): StoredTransportZone | undefined {
  return fleet.get(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, id));
}
