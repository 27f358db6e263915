// What must never be untrue of networks, ports and addresses. Checked after every commit in tests and in the simulation, on the documents that
// the commit changed.
import { idOf, type AppliedChange, type FleetReader, type Invariant, type Stored } from '../fleet/index.ts';
import { cidrOf } from './addresses/allocation.ts';
import { CAPABILITIES } from './back-ends/back-end.ts';
import { CLAIM, type Claim } from './claim.ts';
import { contains, parseIp } from './addresses/ip.ts';
import { portsWithMac } from './addresses/mac.ts';
import { PORT, PORTS_BY_INSTANCE, SEGMENT, SUBNET, type Port, type Subnet } from './model.ts';
import type { PoolKey } from './ports/nic-requirements.ts';
import { stockOf } from './addresses/stock.ts';
import { findNetwork, poolOf, segmentOfPool, topologyOf, type StoredPort } from './networks/topology.ts';

/** The ports that a commit created or changed, as they are now. */
function listChangedPorts(changed: readonly AppliedChange[]): StoredPort[] {
  return changed.flatMap(({ kind, after }) => (kind === PORT.name && after !== undefined ? [after as StoredPort] : []));
}

/** The subnets that a commit touched, as they were and as they are. */
function listTouchedSubnets(changed: readonly AppliedChange[]): Stored<'subnet', Subnet>[] {
  return changed.flatMap(({ kind, before, after }) =>
    kind === SUBNET.name ? [before, after].flatMap((one) => (one === undefined ? [] : (one as never))) : [],
  );
}

const addressHasOneOwner: Invariant = {
  name: 'never: an address has two owners',
  check: (changed, fleet) => {
    const stock = stockOf(fleet);
    return listChangedPorts(changed).flatMap(({ id, doc }) =>
      doc.addresses.flatMap(({ subnet, ip }) => {
        const owners = stock.holdersOf(subnet, ip);
        const holder = stock.holderOf(subnet, ip);
        return owners.length === 1 && holder === id ? [] : [`${ip} of ${subnet}: ${holder}, ${owners.join(', ')}`];
      }),
    );
  },
};

const gatewayHeldByNoPort: Invariant = {
  name: 'never: a port has the address of the gateway',
  check: (changed, fleet) =>
    listTouchedSubnets(changed).flatMap(({ id }) => {
      const gateway = fleet.get(SUBNET, id)?.doc.gateway;
      const owners = gateway === undefined ? [] : stockOf(fleet).holdersOf(id, gateway);
      return owners.length === 0 ? [] : [`${gateway} of ${id}: ${owners.join(', ')}`];
    }),
};

const macIsUniqueOnNetwork: Invariant = {
  name: 'never: two ports of a network have one MAC address',
  check: (changed, fleet) =>
    listChangedPorts(changed).flatMap(({ doc }) => {
      const ports = portsWithMac(fleet, doc.network, doc.mac);
      return ports.length > 1 ? [`${doc.mac} on ${doc.network}: ${ports.join(', ')}`] : [];
    }),
};

const networkIsRoutedOrPlain: Invariant = {
  name: 'never: a network has subnets with a segment and subnets without, or a segment that is not its own',
  check: (changed, fleet) => {
    const touched = changed.flatMap(({ kind, before, after }) => {
      const one = (after ?? before)?.doc as Subnet | undefined;
      return one !== undefined && (kind === SUBNET.name || kind === SEGMENT.name) ? [one.network] : [];
    });
    return [...new Set(touched)].flatMap((network) => routingProblems(fleet, network));
  },
};

function routingProblems(fleet: FleetReader, network: string): string[] {
  const topology = topologyOf(fleet);
  const subnets = topology.subnetsOf(network);
  if (findNetwork(fleet, network) === undefined) {
    const left = subnets.length + topology.segmentsOf(network).length;
    return left === 0 ? [] : [`${left} subnets and segments of network ${network}, which is not there`];
  }
  const plain = subnets.filter(({ doc }) => doc.segment === undefined).length;
  const mixed = plain > 0 && plain < subnets.length ? [`network ${network}: ${plain} of ${subnets.length} plain`] : [];
  const strange = subnets.flatMap(({ id, doc }) => {
    const segment = doc.segment === undefined ? undefined : topology.segment(network, doc.segment);
    return doc.segment === undefined || segment?.doc.dynamic === false ? [] : [`subnet ${id} on ${doc.segment}`];
  });
  return [...mixed, ...strange];
}

const addressesLieInNetwork: Invariant = {
  name: "never: a port's addresses lie outside its network's subnets or in two segments",
  check: (changed, fleet) => [
    ...listChangedPorts(changed).flatMap((port) => addressProblems(fleet, port)),
    ...listTouchedSubnets(changed).flatMap(({ id }) => {
      const held = fleet.get(SUBNET, id) === undefined ? stockOf(fleet).heldCountOf(id) : 0;
      return held === 0 ? [] : [`${held} addresses of subnet ${id}, which is not there`];
    }),
  ],
};

function addressProblems(fleet: FleetReader, { id, doc }: StoredPort): string[] {
  if (findNetwork(fleet, doc.network) === undefined) return [`port ${id} on ${doc.network}, which is not there`];
  const segments = new Set<string | undefined>();
  const strange = doc.addresses.filter(({ ip, subnet }) => {
    const of = fleet.get(SUBNET, idOf(SUBNET, subnet))?.doc;
    segments.add(of?.segment);
    const parsed = parseIp(ip);
    return of?.network !== doc.network || parsed === undefined || !contains(cidrOf(of.cidr), parsed);
  });
  const apart = segments.size > 1 ? [`port ${id}: segments ${[...segments].join(', ')}`] : [];
  return [...apart, ...strange.map(({ ip, subnet }) => `port ${id}: ${ip} of ${subnet}`)];
}

function isSamePlace(one: NonNullable<Port['binding']>, other: NonNullable<Port['binding']>): boolean {
  return one.host === other.host && one.node === other.node;
}

const bindingSerialsGrow: Invariant = {
  name: 'never: the binding serial of a port falls, or two bindings share one',
  check: (changed) =>
    changed.flatMap(({ kind, before, after }) => {
      if (kind !== PORT.name || after === undefined) return [];
      const [was, is] = [before?.doc as Port | undefined, after.doc as Port];
      const falls = is.serial < (was?.serial ?? 0) || is.serial < (is.binding?.serial ?? 0);
      const [old, now] = [was?.binding, is.binding];
      const shared = old !== undefined && now !== undefined && !isSamePlace(old, now) && old.serial >= now.serial;
      return falls || shared ? [`port ${after.id}: ${was?.serial} to ${is.serial}`] : [];
    }),
};

const bindingIsToOnePlace: Invariant = {
  name: 'never: a port is bound to a host and a node, or to neither',
  check: (changed) =>
    listChangedPorts(changed).flatMap(({ id, doc: { binding } }) => {
      if (binding === undefined || (binding.host === undefined) !== (binding.node === undefined)) return [];
      return [`port ${id}: host ${binding.host}, node ${binding.node}`];
    }),
};

const attachmentIsWhole: Invariant = {
  name: 'never: a port is attached by half, bound while unattached, or one of two that are the same NIC',
  check: (changed, fleet) =>
    listChangedPorts(changed).flatMap(({ id, doc }) => {
      const { instance, nic, binding, addresses } = doc;
      if ((instance === undefined) !== (nic === undefined)) return [`port ${id}: ${instance} has it as NIC ${nic}`];
      if (instance === undefined) {
        const late = addresses.some(({ chosenBy }) => chosenBy === 'bind');
        return binding === undefined && !late ? [] : [`port ${id} has what a binding gave it and no instance`];
      }
      const same = [...fleet.find(PORTS_BY_INSTANCE, instance)].filter((one) => one.doc.nic === nic);
      return same.length > 1 ? [`NIC ${nic} of ${instance}: ${same.map((one) => one.id).join(', ')}`] : [];
    }),
};

const stockNotNegative: Invariant = {
  name: 'never: more addresses are held and claimed than a pool has',
  check: (changed, fleet) => {
    const stock = stockOf(fleet);
    return [...listTouchedPools(fleet, changed)].flatMap((pool) => {
      // A back end outside the journal has other users: its allocations are learnt afterwards.
      if (!isInlinePool(fleet, pool)) return [];
      return ([4, 6] as const).flatMap((version) => {
        const { total, held, claimed, free } = stock.figures(pool, version);
        return free < 0n || held < 0n || claimed < 0n
          ? [`${pool}: ${held} + ${claimed} of ${total} (IPv${version})`]
          : [];
      });
    });
  },
};

function listTouchedPools(fleet: FleetReader, changed: readonly AppliedChange[]): Set<PoolKey> {
  const pools = new Set<PoolKey>(listTouchedSubnets(changed).map(({ doc }) => poolOf(doc)));
  for (const { doc } of listChangedPorts(changed)) {
    for (const { subnet } of doc.addresses) {
      const of = fleet.get(SUBNET, idOf(SUBNET, subnet))?.doc;
      if (of !== undefined) pools.add(poolOf(of));
    }
  }
  for (const { kind, before, after } of changed) {
    if (kind !== CLAIM.name) continue;
    for (const one of [before, after]) {
      for (const { pool } of (one?.doc as Claim | undefined)?.addresses ?? []) pools.add(pool as PoolKey);
    }
  }
  return pools;
}

function isInlinePool(fleet: FleetReader, pool: PoolKey): boolean {
  const id = segmentOfPool(pool);
  const segment = id === undefined ? undefined : fleet.get(SEGMENT, idOf(SEGMENT, id))?.doc;
  const network = findNetwork(fleet, segment?.network ?? pool.slice('network:'.length))?.doc;
  return network !== undefined && CAPABILITIES[network.backEnd].inline;
}

export const NETWORK_INVARIANTS: readonly Invariant[] = [
  addressHasOneOwner,
  gatewayHeldByNoPort,
  macIsUniqueOnNetwork,
  networkIsRoutedOrPlain,
  addressesLieInNetwork,
  bindingSerialsGrow,
  attachmentIsWhole,
  stockNotNegative,
  bindingIsToOnePlace,
];
