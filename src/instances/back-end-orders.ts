// The orders of an instance to a back end outside the journal. An order leaves no choice: ids, serials, pools and the addresses to drop are in it,
// so that repeating it changes nothing.
import { idOf, type FleetReader } from '../fleet/index.ts';
import {
  NETWORK,
  nicRequirementsOf,
  composeOrderPools,
  type BackEndName,
  type NetworkOrder,
  type PoolKey,
  type Port,
  type StoredPort,
} from '../network/index.ts';
import type { Instance } from './model.ts';
import { isInline } from './build/placement.ts';

/** The ports of an instance whose back end is outside the journal. */
export function nonInlinePorts(fleet: FleetReader, ports: readonly StoredPort[]): StoredPort[] {
  return ports.filter((port) => !isInline(fleet, port.doc));
}

export function composeCreateOrder(fleet: FleetReader, instance: string, ports: readonly StoredPort[]): NetworkOrder {
  // Ports with addresses of their own come first: an address picked for the others must not be one of theirs.
  const inTurn = ports.toSorted((one, other) => Number(isPickedByBackEnd(one)) - Number(isPickedByBackEnd(other)));
  return {
    ...orderHeader(fleet, instance, ports),
    op: 'create',
    ports: inTurn.map(({ id, doc }) => ({
      port: id,
      ...otherBackEnd(fleet, doc, ports),
      network: doc.network,
      mac: doc.mac,
      serial: doc.serial,
      nic: doc.nic ?? 0,
      project: doc.project,
      createdBy: doc.createdBy,
      fixedIps: doc.addresses.map(({ ip, subnet }) => ({ ip, subnet })),
      pick: isPickedByBackEnd({ doc }),
      pools: composeOrderPools(fleet, `network:${doc.network}`),
    })),
  };
}

/** Whether the back end picks its addresses when it is created. */
function isPickedByBackEnd({ doc }: Pick<StoredPort, 'doc'>): boolean {
  return doc.ipAllocation === 'immediate' && doc.addresses.length === 0;
}

export function composeBindOrder(
  fleet: FleetReader,
  {
    instance,
    host,
    pools,
  }: {
    readonly instance: { readonly id: string; readonly doc: Instance };
    readonly host: string;
    readonly pools: readonly string[];
  },
  ports: readonly StoredPort[],
): NetworkOrder {
  const { wasActive } = instance.doc;
  return {
    ...orderHeader(fleet, instance.id, ports),
    op: 'bind',
    host,
    ports: ports.map(({ id, doc }) => {
      const nic = doc.nic ?? 0;
      const pool = pools[nic] as PoolKey;
      const takes = nicRequirementsOf(fleet, doc, { wasActive }).choices.find((one) => one.pool === pool)?.takes ?? [];
      const segment = segmentOf(pool);
      const [drops, keeps] = splitAddresses(doc, takes.length > 0);
      return {
        port: id,
        ...otherBackEnd(fleet, doc, ports),
        serial: doc.serial,
        nic,
        pool,
        ...(segment !== undefined && { segment }),
        takes,
        drops,
        keeps,
        pools: composeOrderPools(fleet, pool),
      };
    }),
  };
}

/** The inactive binding of each port at a host that is not newer than the serial that was given out last. */
export function composeDeleteBindingOrder(
  fleet: FleetReader,
  instance: string,
  host: string,
  ports: readonly StoredPort[],
): NetworkOrder {
  const old = ports.map(({ id, doc }) => ({
    port: id,
    ...otherBackEnd(fleet, doc, ports),
    nic: doc.nic ?? 0,
    serial: doc.serial,
  }));
  return { ...orderHeader(fleet, instance, ports), op: 'delete-binding', host, ports: old };
}

export function composeReleaseOrder(
  fleet: FleetReader,
  op: 'unbind' | 'release',
  instance: { readonly id: string; readonly doc: Instance },
  ports: readonly StoredPort[],
): NetworkOrder {
  return {
    ...orderHeader(fleet, instance.id, ports),
    op,
    ports: ports.map(({ id, doc }) => {
      // Other addresses came with a bind whose answer is unknown here: they are dropped, or the pool would lack them.
      const [drops, keeps] = splitAddresses(doc, op === 'release' && !instance.doc.wasActive);
      return {
        port: id,
        ...otherBackEnd(fleet, doc, ports),
        // Higher than that of the bind that it ends: a late bind is then refused.
        serial: doc.serial + 1,
        nic: doc.nic ?? 0,
        createdBy: doc.createdBy,
        drops,
        keeps,
      };
    }),
  };
}

/** The addresses that a port keeps when its instance ends. */
export function addressesKeptAtRelease(port: Port, { wasActive }: Pick<Instance, 'wasActive'>): string[] {
  const [, keeps] = splitAddresses(port, !wasActive);
  return keeps;
}

/** The addresses that a port drops when it moves to another pool, and those that it keeps. */
function splitAddresses({ addresses }: Port, moves: boolean): readonly [drops: string[], keeps: string[]] {
  const isDropped = (one: Port['addresses'][number]): boolean => moves && one.chosenBy === 'bind';
  return [
    addresses.filter((one) => isDropped(one)).map(({ ip }) => ip),
    addresses.filter((one) => !isDropped(one)).map(({ ip }) => ip),
  ];
}

export function segmentOf(pool: string): string | undefined {
  return pool.startsWith('segment:') ? pool.slice('segment:'.length) : undefined;
}

function orderHeader(
  fleet: FleetReader,
  instance: string,
  ports: readonly StoredPort[],
): { backEnd: BackEndName; instance: string } {
  return { backEnd: backEndNameOf(fleet, ports[0]?.doc.network ?? ''), instance };
}

/** Set for a port whose back end differs from the order's, which is that of the first. */
function otherBackEnd(
  fleet: FleetReader,
  { network }: Port,
  [first]: readonly StoredPort[],
): { readonly backEnd?: BackEndName } {
  if (first === undefined || network === first.doc.network) return {};
  const backEnd = backEndNameOf(fleet, network);
  return backEnd === backEndNameOf(fleet, first.doc.network) ? {} : { backEnd };
}

function backEndNameOf(fleet: FleetReader, network: string): BackEndName {
  return fleet.get(NETWORK, idOf(NETWORK, network))?.doc.backEnd ?? 'simulated';
}
