// Hosts as topology and inventory have them: a node for each integration bridge, with the external ids of the bridge. It is
// rendered from the fleet on request: the fleet is authoritative, not the switch.
import { LazyList, canSeeSite, type Caller } from '../../access/index.ts';
import type { FleetReader } from '../../fleet/index.ts';
import { HOST, isTombstoned, resolveHost, type Host, type StoredHost } from '../../hosts/index.ts';

export const TOPOLOGY_ID = 'ovsdb:1';
const BRIDGE = 'br-int';

/** A removed host is in neither of them; one whose switch is not known yet has its name for an id. */
function nodeId({ name, switch: identity }: Host): string {
  return identity?.bridge === undefined ? name : `ovsdb://uuid/${identity.bridge}/bridge/${BRIDGE}`;
}

function topologyNode({ doc }: StoredHost): object {
  const datapathId = doc.switch?.datapathId;
  const systemId = doc.switch?.systemId;
  const externalIds = [
    ...(systemId === undefined ? [] : [['system-id', systemId] as const]),
    // Absent when it is not so: a reader that looks for the key alone is right too.
    ...(isTombstoned(doc) ? [['tombstoned', 'true'] as const] : []),
  ];
  return {
    'node-id': nodeId(doc),
    'ovsdb:bridge-name': BRIDGE,
    ...(datapathId !== undefined && { 'ovsdb:datapath-id': datapathId.replaceAll(/(..)(?=.)/g, '$1:') }),
    'ovsdb:bridge-other-configs': [{ 'bridge-other-config-key': 'dp-desc', 'bridge-other-config-value': doc.name }],
    ...(externalIds.length > 0 && {
      'ovsdb:bridge-external-ids': externalIds.map(([key, value]) => ({
        'bridge-external-id-key': key,
        'bridge-external-id-value': value,
      })),
    }),
  };
}

function* eachVisibleHost(fleet: FleetReader, caller: Caller): Iterable<StoredHost> {
  for (const host of fleet.all(HOST)) {
    if (host.doc.state !== 'removed' && canSeeSite(caller, host.doc.site)) yield host;
  }
}

/** All hosts of one revision: documents do not change, so that nodes may be made from them later. */
export function listVisibleHosts(fleet: FleetReader, caller: Caller): readonly StoredHost[] {
  return [...eachVisibleHost(fleet, caller)];
}

function* renderNodes(
  hosts: readonly StoredHost[],
  nodeOf: (host: StoredHost) => object | undefined,
): Generator<object, void> {
  for (const host of hosts) {
    const node = nodeOf(host);
    if (node !== undefined) yield node;
  }
}

/** Its nodes are made while it is sent. */
export function topologyOf(hosts: readonly StoredHost[]): object {
  return { 'topology-id': TOPOLOGY_ID, node: new LazyList(renderNodes(hosts, topologyNode)) };
}

/** By any id of the host. */
export function topologyNodeOf(fleet: FleetReader, caller: Caller, id: string): object | undefined {
  const host = hostOf(fleet, caller, id);
  return host === undefined ? undefined : topologyNode(host);
}

/** Hosts whose switch has shown its datapath id; the others are not in the inventory yet. */
export function inventoryOf(hosts: readonly StoredHost[]): LazyList {
  return new LazyList(renderNodes(hosts, inventoryNode));
}

export function inventoryNodeOf(fleet: FleetReader, caller: Caller, id: string): object | undefined {
  const host = hostOf(fleet, caller, id);
  return host === undefined ? undefined : inventoryNode(host);
}

function inventoryNode({ doc }: StoredHost): object | undefined {
  const datapathId = doc.switch?.datapathId;
  // All 64 bits: as a text of decimal digits, never as a number.
  return datapathId === undefined ? undefined : { id: `openflow:${BigInt(`0x${datapathId}`)}` };
}

function hostOf(fleet: FleetReader, caller: Caller, id: string): StoredHost | undefined {
  const host = resolveHost(fleet, id, caller.site);
  return host === undefined || host.doc.state === 'removed' ? undefined : host;
}
