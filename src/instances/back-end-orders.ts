// What a back end outside the journal is told to do for an instance. An order leaves no choice: ids, serials, pools and the
// addresses that go are in it, so that repeating it changes nothing.
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

/** The ports of an instance that a back end outside the journal looks after. */
export function nonInlinePorts(fleet: FleetReader, ports: readonly StoredPort[]): StoredPort[] {
  return ports.filter((port) => !isInline(fleet, port.doc));
}

export function composeCreateOrder(fleet: FleetReader, instance: string, ports: readonly StoredPort[]): NetworkOrder {
  // Those with addresses of their own come first: whatever is picked for the others must not be one of theirs.
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

/** Whether the back end picks addresses for it as it is made. */
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

/** The binding of each port at a host that is not the active one, and is not younger than the serial that was given out last. */
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
      // An address beyond these came with a bind whose answer is not known here: it goes, or the pool would lack it.
      const [drops, keeps] = splitAddresses(doc, op === 'release' && !instance.doc.wasActive);
      return {
        port: id,
        ...otherBackEnd(fleet, doc, ports),
        // Higher than that of the bind that it ends: a bind that comes late is then refused.
        serial: doc.serial + 1,
        nic: doc.nic ?? 0,
        createdBy: doc.createdBy,
        drops,
        keeps,
      };
    }),
  };
}

/** What is left of a port's addresses when its instance ends. */
export function addressesKeptAtRelease(port: Port, { wasActive }: Pick<Instance, 'wasActive'>): string[] {
  const [, keeps] = splitAddresses(port, !wasActive);
  return keeps;
}

/** The addresses that a port loses when it goes to another pool, and those that it keeps. */
function splitAddresses({ addresses }: Port, moves: boolean): readonly [drops: string[], keeps: string[]] {
  const goes = (one: Port['addresses'][number]): boolean => moves && one.chosenBy === 'bind';
  return [
    addresses.filter((one) => goes(one)).map(({ ip }) => ip),
    addresses.filter((one) => !goes(one)).map(({ ip }) => ip),
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

/** Said of a port whose back end is another than the order's, which is that of the first. */
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
