// What must never be untrue of routers and floating addresses. Checked after every commit in tests and in the simulation, on the documents that the
// commit changed.
import {
  idOf,
  type AnyDoc,
  type AppliedChange,
  type FleetReader,
  type Id,
  type Invariant,
  type Kind,
  type Stored,
} from '../../fleet/index.ts';
import { cidrOf } from '../addresses/allocation.ts';
import { overlaps } from '../addresses/ip.ts';
import { NETWORK, PORT, SUBNET, type Port } from '../model.ts';
import {
  FLOATING_ADDRESS,
  FLOATING_ADDRESSES_BY_PORT,
  FLOATING_ADDRESSES_BY_ROUTER,
  ROUTER,
  ROUTERS_BY_EXTERNAL_NETWORK,
  ROUTERS_BY_SUBNET,
  type ExternalAddress,
  type StoredFloatingAddress,
  type StoredRouter,
} from './model.ts';
import { findNetwork, type StoredPort } from '../networks/topology.ts';

/** The ids of a kind that a commit changed. */
function listTouchedIds(changed: readonly AppliedChange[], { name }: Kind<string, never>): string[] {
  return changed.flatMap(({ kind, before, after }) => (kind === name ? [(after ?? before)?.id ?? ''] : []));
}

function findAll<K extends string, D extends AnyDoc>(
  fleet: FleetReader,
  kind: Kind<K, D>,
  ids: readonly string[],
): Stored<K, D>[] {
  return ids.flatMap((id) => fleet.get(kind, id as Id<K>) ?? []);
}

/** The routers that a commit may have broken. */
function findAffectedRouters(fleet: FleetReader, changed: readonly AppliedChange[]): StoredRouter[] {
  return [
    ...findAll(fleet, ROUTER, listTouchedIds(changed, ROUTER)),
    ...listTouchedIds(changed, SUBNET).flatMap((id) => [...fleet.find(ROUTERS_BY_SUBNET, id)]),
    ...listTouchedIds(changed, NETWORK).flatMap((id) => [...fleet.find(ROUTERS_BY_EXTERNAL_NETWORK, id)]),
  ];
}

const subnetHasOneRouter: Invariant = {
  name: 'never: two routers have one subnet, or one has a subnet that is not there or has no gateway',
  check: (changed, fleet) =>
    findAffectedRouters(fleet, changed).flatMap(({ id, doc }) =>
      doc.subnets.flatMap((subnet) => {
        const count = fleet.countOf(ROUTERS_BY_SUBNET, subnet);
        if (count > 1) return [`${subnet}: behind ${count} routers, ${id} among them`];
        const gateway = fleet.get(SUBNET, idOf(SUBNET, subnet))?.doc.gateway;
        return gateway === undefined ? [`router ${id}: ${subnet} is not there or has no gateway`] : [];
      }),
    ),
};

const subnetsDoNotOverlap: Invariant = {
  name: 'never: two subnets behind one router overlap',
  check: (changed, fleet) =>
    findAffectedRouters(fleet, changed).flatMap(({ id, doc }) => {
      const subnets = findAll(fleet, SUBNET, doc.subnets);
      return subnets.flatMap((one, nth) =>
        subnets
          .slice(0, nth)
          .filter((other) => overlaps(cidrOf(one.doc.cidr), cidrOf(other.doc.cidr)))
          .map((other) => `router ${id}: ${one.id} and ${other.id}`),
      );
    }),
};

/** The users of external addresses that a commit may have broken, with the address that they record. */
function findAffectedAddressUsers(fleet: FleetReader, changed: readonly AppliedChange[]) {
  const ports = changed.flatMap(({ kind, before, after }) => (kind === PORT.name ? [before, after] : []));
  const users = ports.flatMap((port) => (port?.doc as Port | undefined)?.usedBy ?? []);
  const idsOf = (kind: 'router' | 'floating-address') => users.filter((one) => one.kind === kind).map(({ id }) => id);
  const routers = [...findAffectedRouters(fleet, changed), ...findAll(fleet, ROUTER, idsOf('router'))];
  const floating = findAll(fleet, FLOATING_ADDRESS, [
    ...listTouchedIds(changed, FLOATING_ADDRESS),
    ...idsOf('floating-address'),
  ]);
  return [
    ...routers.map(({ id, doc }) => ({ kind: 'router', id, network: doc.externalNetwork, outside: doc.nat })),
    ...floating.map(({ id, doc: { network, outside } }) => ({ kind: 'floating-address', id, network, outside })),
  ];
}

const externalAddressHasOwnPort: Invariant = {
  name: 'never: a router or a floating address has an address that is not that of a port of its own outside',
  check: (changed, fleet) =>
    findAffectedAddressUsers(fleet, changed).flatMap(({ kind, id, network, outside }) => {
      if (network === undefined && outside === undefined) return [];
      const port = outside === undefined ? undefined : fleet.get(PORT, idOf(PORT, outside.port))?.doc;
      const isOwn = port?.usedBy?.kind === kind && port.usedBy.id === id && port.network === network;
      const isOutside = network !== undefined && findNetwork(fleet, network)?.doc.external === true;
      const has = port?.addresses.length === 1 && port.addresses[0]?.ip === outside?.ip;
      return isOwn && isOutside && has ? [] : [`${kind} ${id}: ${outside?.ip} of port ${outside?.port} on ${network}`];
    }),
};

const usedPortHasItsUser: Invariant = {
  name: 'never: a port has a user that is gone or has another, or is used and attached or bound',
  check: (changed, fleet) =>
    // A port is checked when its user changes, too.
    [...findAll(fleet, PORT, listTouchedIds(changed, PORT)), ...listFormerPorts(fleet, changed)].flatMap(
      ({ id, doc }) => {
        if (doc.usedBy === undefined) return [];
        const own = externalAddressOf(fleet, doc.usedBy)?.port === id;
        return own && doc.instance === undefined && doc.binding === undefined
          ? []
          : [`port ${id} of ${doc.usedBy.kind} ${doc.usedBy.id}`];
      },
    ),
};

function listFormerPorts(fleet: FleetReader, changed: readonly AppliedChange[]): StoredPort[] {
  const had = changed.flatMap(({ kind, before }) => {
    if (kind === ROUTER.name) return (before as StoredRouter | undefined)?.doc.nat?.port ?? [];
    return kind === FLOATING_ADDRESS.name
      ? ((before as StoredFloatingAddress | undefined)?.doc.outside.port ?? [])
      : [];
  });
  return findAll(fleet, PORT, had);
}

function externalAddressOf(fleet: FleetReader, { kind, id }: NonNullable<Port['usedBy']>): ExternalAddress | undefined {
  return kind === 'router'
    ? fleet.get(ROUTER, idOf(ROUTER, id))?.doc.nat
    : fleet.get(FLOATING_ADDRESS, idOf(FLOATING_ADDRESS, id))?.doc.outside;
}

const floatingAddressHasTarget: Invariant = {
  name: 'never: a floating address leads to a port that is gone, to an address it has not, or through no router',
  check: (changed, fleet) => {
    const concerned = [
      ...findAll(fleet, FLOATING_ADDRESS, listTouchedIds(changed, FLOATING_ADDRESS)),
      ...listTouchedIds(changed, PORT).flatMap((id) => [...fleet.find(FLOATING_ADDRESSES_BY_PORT, id)]),
      ...listTouchedIds(changed, ROUTER).flatMap((id) => [...fleet.find(FLOATING_ADDRESSES_BY_ROUTER, id)]),
    ];
    return concerned.flatMap(({ id, doc: { inside, network } }) => {
      if (inside === undefined) return [];
      const port = fleet.get(PORT, idOf(PORT, inside.port))?.doc;
      const address = port?.addresses.find(({ ip }) => ip === inside.ip);
      const router = fleet.get(ROUTER, idOf(ROUTER, inside.router))?.doc;
      const leads = address !== undefined && router?.subnets.includes(address.subnet) === true;
      return leads && router.externalNetwork === network
        ? []
        : [`floating address ${id}: ${inside.ip} of port ${inside.port} through ${inside.router}`];
    });
  },
};

export const ROUTER_INVARIANTS: readonly Invariant[] = [
  subnetHasOneRouter,
  subnetsDoNotOverlap,
  externalAddressHasOwnPort,
  usedPortHasItsUser,
  floatingAddressHasTarget,
];
