// The integration bridge in terms of the switch's database: its state, and the operations that bring it to the desired one. Pure.
import type { SwitchIdentity } from '../../hosts/index.ts';
import type { Monitor, MonitoredTables } from './ovsdb/monitor.ts';
import type { OvsdbOperation } from './ovsdb/operation.ts';
import type { RowChange } from './ovsdb/replica.ts';
import { numberColumn, textColumn, textMapColumn, uuidsColumn } from './ovsdb/read-column.ts';
import { mapOf, setOf, type OvsdbRow } from './ovsdb/value.ts';
import type { Tunnel } from '../switch/switch.ts';
import { bfdPortName } from '../switch/derived-ids.ts';
import { EXTERNAL_PORT, TUNNEL_PORT } from '../switch/tables.ts';

export const DATABASE = 'Open_vSwitch';

export const BRIDGE_TABLES: MonitoredTables = {
  Open_vSwitch: ['bridges', 'external_ids', 'cur_cfg', 'next_cfg', 'datapath_types'],
  Bridge: ['name', 'ports', 'datapath_id', 'datapath_type', 'external_ids', 'fail_mode', 'protocols'],
  Port: ['name', 'interfaces', 'external_ids'],
  Interface: ['name', 'type', 'ofport', 'error', 'options', 'bfd', 'bfd_status'],
};

export interface BridgePlan {
  readonly bridge: string;
  /** The interface or the bridge that leads to the external network; none when absent. */
  readonly external?: string | undefined;
  /** `netdev` is the user-space datapath. */
  readonly datapath: 'system' | 'netdev';
}

const unquote = (quoted: string): string => quoted.slice(1, -1);
const TUNNEL_NAME = unquote(TUNNEL_PORT);
export const EXTERNAL_NAME = unquote(EXTERNAL_PORT);
const EXTERNAL_PATCH_PEER = `${EXTERNAL_NAME}-far`;

type Tables = Pick<Monitor, 'table'>;
interface Found {
  readonly uuid: string;
  readonly row: OvsdbRow;
}

function findRow(tables: Tables, table: string, name: string): Found | undefined {
  for (const [uuid, row] of tables.table(table)) if (textColumn(row, 'name') === name) return { uuid, row };
  return undefined;
}

export function findBridge(tables: Tables, name: string): Found | undefined {
  return findRow(tables, 'Bridge', name);
}

export function readIdentity(tables: Tables, bridge: string): SwitchIdentity {
  const [root] = tables.table('Open_vSwitch').values();
  const systemId = textMapColumn(root, 'external_ids')['system-id'];
  const found = findBridge(tables, bridge);
  const datapathId = textColumn(found?.row, 'datapath_id');
  return {
    ...(datapathId !== undefined && datapathId !== '' && { datapathId }),
    ...(systemId !== undefined && { systemId }),
    ...(found !== undefined && { bridge: found.uuid }),
  };
}

export interface PortRow {
  readonly name: string;
  readonly ofport: number;
  readonly row: OvsdbRow;
}

/** The interfaces of the bridge that packets can go through. */
export function readPorts(tables: Tables, bridge: string): PortRow[] {
  const interfaces = uuidsColumn(findBridge(tables, bridge)?.row, 'ports').flatMap((port) =>
    uuidsColumn(tables.table('Port').get(port), 'interfaces'),
  );
  return interfaces.flatMap((uuid) => {
    const row = tables.table('Interface').get(uuid);
    const [name, ofport] = [textColumn(row, 'name'), numberColumn(row, 'ofport')];
    if (row === undefined || name === undefined || ofport === undefined || ofport < 1 || name === bridge) return [];
    return [{ name, ofport, row }];
  });
}

/** The interfaces of the bridge except its own, also those without a device. */
export function readPluggedInterfaces(tables: Tables, plan: BridgePlan): string[] {
  const { bridge } = plan;
  const heartbeats = readBridgeIds(tables, bridge).tunnels.map(({ peer }) => bfdInterfaceName(peer));
  const own = new Set([bridge, TUNNEL_NAME, EXTERNAL_NAME, externalPortName(tables, plan), ...heartbeats]);
  const interfaces = uuidsColumn(findBridge(tables, bridge)?.row, 'ports').flatMap((port) =>
    uuidsColumn(tables.table('Port').get(port), 'interfaces'),
  );
  const names = interfaces.flatMap((uuid) => textColumn(tables.table('Interface').get(uuid), 'name') ?? []);
  return names.filter((name) => !own.has(name)).sort();
}

/** The external port: the interface itself, or the patch port to its bridge. */
export function externalPortName(tables: Tables, { external }: BridgePlan): string | undefined {
  if (external === undefined) return undefined;
  return findBridge(tables, external) === undefined ? external : EXTERNAL_NAME;
}

/** The operations that create the bridge, without any of our ports. Empty when it exists. */
export function bridgeOperations(tables: Tables, plan: BridgePlan): OvsdbOperation[] {
  const found = findBridge(tables, plan.bridge);
  return found === undefined ? createBridgeOperations(plan) : adjustBridgeOperations(found);
}

/** The operations that create the tunnel port and the external port, once the bridge exists. Empty when both exist. */
export function setUpOperations(tables: Tables, plan: BridgePlan): OvsdbOperation[] {
  const here = { uuid: findBridge(tables, plan.bridge)?.uuid, name: plan.bridge };
  return [
    ...ensurePortOperations(tables, here, {
      name: TUNNEL_NAME,
      row: { type: 'vxlan', options: mapOf({ remote_ip: 'flow', key: 'flow' }) },
    }),
    ...externalPortOperations(tables, plan, here),
  ];
}

/** The operations that remove our ports. An interface that others plugged in stays. */
export function tearDownOperations(tables: Tables, { bridge, external }: BridgePlan): OvsdbOperation[] {
  const isOurs = external !== undefined && isMadeByUs(findRow(tables, 'Port', external)?.row);
  return [
    ...unplugOperations(tables, bridge, TUNNEL_NAME),
    ...unplugOperations(tables, bridge, EXTERNAL_NAME),
    ...(external === undefined ? [] : unplugOperations(tables, external, EXTERNAL_PATCH_PEER)),
    ...(isOurs ? unplugOperations(tables, bridge, external) : []),
  ];
}

/** On a port whose name is not derived by us: who plugged it in. */
const MADE_BY = { 'made-by': 'muster' } as const;

function isMadeByUs(row: OvsdbRow | undefined): boolean {
  return textMapColumn(row, 'external_ids')['made-by'] === MADE_BY['made-by'];
}

interface At {
  readonly uuid: string | undefined;
  readonly name: string;
}

function externalPortOperations(tables: Tables, plan: BridgePlan, here: At): OvsdbOperation[] {
  const { external } = plan;
  if (external === undefined) return [];
  const there = findBridge(tables, external);
  if (there === undefined) return ensurePortOperations(tables, here, { name: external, row: {}, ids: MADE_BY });
  return [
    ...ensurePortOperations(tables, here, patch(EXTERNAL_NAME, EXTERNAL_PATCH_PEER)),
    ...ensurePortOperations(tables, { uuid: there.uuid, name: external }, patch(EXTERNAL_PATCH_PEER, EXTERNAL_NAME)),
  ];
}

function patch(name: string, peer: string): PortPlan {
  return { name, row: { type: 'patch', options: mapOf({ peer }) } };
}

const PROTOCOLS = ['OpenFlow10', 'OpenFlow13', 'OpenFlow14'];

function createBridgeOperations({ bridge, datapath }: BridgePlan): OvsdbOperation[] {
  return [
    { op: 'insert', table: 'Interface', name: 'ours_interface', row: { name: bridge, type: 'internal' } },
    {
      op: 'insert',
      table: 'Port',
      name: 'ours_port',
      row: { name: bridge, interfaces: { namedUuid: 'ours_interface' } },
    },
    {
      op: 'insert',
      table: 'Bridge',
      name: 'ours',
      row: {
        name: bridge,
        datapath_type: datapath,
        fail_mode: 'secure',
        protocols: setOf(PROTOCOLS),
        ports: setOf([{ namedUuid: 'ours_port' }]),
      },
    },
    {
      op: 'mutate',
      table: 'Open_vSwitch',
      where: [],
      mutations: [['bridges', 'insert', setOf([{ namedUuid: 'ours' }])]],
    },
  ];
}

/** Without `fail_mode=secure` a bridge would forward by itself; and it must speak our OpenFlow version. */
function adjustBridgeOperations({ uuid, row }: Found): OvsdbOperation[] {
  const where = [['_uuid', '==', { uuid }]] as const;
  const spoken = row['protocols'];
  const speaks = JSON.stringify(spoken ?? '').includes('OpenFlow14');
  const speaksAll = typeof spoken === 'object' && 'set' in spoken && spoken.set.length === 0;
  return [
    ...(textColumn(row, 'fail_mode') === 'secure'
      ? []
      : [{ op: 'update', table: 'Bridge', where, row: { fail_mode: 'secure' } } as const]),
    ...(speaks || speaksAll
      ? []
      : [
          {
            op: 'mutate',
            table: 'Bridge',
            where,
            mutations: [['protocols', 'insert', setOf(['OpenFlow14'])]],
          } as const,
        ]),
  ];
}

interface PortPlan {
  readonly name: string;
  /** Of its interface. */
  readonly row: OvsdbRow;
  /** External ids of the port. */
  readonly ids?: Readonly<Record<string, string>>;
}

function ensurePortOperations(tables: Tables, at: At, plan: PortPlan): OvsdbOperation[] {
  return findRow(tables, 'Port', plan.name) === undefined ? createPortOperations(at, plan) : [];
}

/** A port with one interface of the same name. */
function createPortOperations({ uuid, name: bridge }: At, { name, row, ids = {} }: PortPlan): OvsdbOperation[] {
  const id = name.replaceAll(/[^A-Za-z0-9]/g, '_');
  const inserted: OvsdbOperation[] = [
    { op: 'insert', table: 'Interface', name: `if_${id}`, row: { name, ...row } },
    {
      op: 'insert',
      table: 'Port',
      name: `port_${id}`,
      row: { name, interfaces: { namedUuid: `if_${id}` }, external_ids: mapOf(ids) },
    },
  ];
  const added = [['ports', 'insert', setOf([{ namedUuid: `port_${id}` }])]] as const;
  const where = uuid === undefined ? ([['name', '==', bridge]] as const) : ([['_uuid', '==', { uuid }]] as const);
  return [...inserted, { op: 'mutate', table: 'Bridge', where, mutations: added }];
}

export function plugOperations(tables: Tables, bridge: string, name: string): OvsdbOperation[] {
  return ensurePortOperations(tables, { uuid: findBridge(tables, bridge)?.uuid, name: bridge }, { name, row: {} });
}

/** The database deletes a port that no bridge refers to. */
export function unplugOperations(tables: Tables, bridge: string, name: string): OvsdbOperation[] {
  const port = findRow(tables, 'Port', name);
  if (port === undefined) return [];
  const mutations = [['ports', 'delete', setOf([{ uuid: port.uuid }])]] as const;
  return [{ op: 'mutate', table: 'Bridge', where: [['name', '==', bridge]], mutations }];
}

/** Not VXLAN: a VXLAN port for the peer would take the packets of the shared tunnel port. Its key distinguishes it from other tunnels. */
const BFD_TUNNEL_KEY = '1';

export const bfdInterfaceName = (peer: string): string => unquote(bfdPortName(peer));

function bfdInterfaceRow({ address, bfdIntervalMs }: Tunnel): OvsdbRow {
  const ms = String(bfdIntervalMs);
  return {
    type: 'geneve',
    options: mapOf({ remote_ip: address, key: BFD_TUNNEL_KEY }),
    bfd: mapOf({ enable: 'true', min_tx: ms, min_rx: ms }),
  };
}

/** The operations that configure BFD with a peer at the given interval, or remove it. */
export function bfdPortOperations(tables: Tables, bridge: string, tunnel: Tunnel): OvsdbOperation[] {
  const name = bfdInterfaceName(tunnel.peer);
  if (tunnel.bfdIntervalMs === undefined) return unplugOperations(tables, bridge, name);
  const row = bfdInterfaceRow(tunnel);
  const found = findBridge(tables, bridge);
  if (findRow(tables, 'Port', name) === undefined)
    return createPortOperations({ uuid: found?.uuid, name: bridge }, { name, row });
  return [{ op: 'update', table: 'Interface', where: [['name', '==', name]], row }];
}

/** By their names: there may be as many as peers. */
function interfacesIn(tables: Tables): ReadonlyMap<string, OvsdbRow> {
  return new Map([...tables.table('Interface').values()].map((row) => [textColumn(row, 'name') ?? '', row]));
}

function bfdIntervalMsOf(row: OvsdbRow | undefined, address: string): number | undefined {
  const { enable, min_tx: ms } = textMapColumn(row, 'bfd');
  return enable === 'true' && textMapColumn(row, 'options')['remote_ip'] === address ? Number(ms) : undefined;
}

export interface BfdSession {
  readonly peer: string;
  /** Since the port exists: a session that was never up may just not have begun. */
  readonly hasBeenUp: boolean;
  readonly isUp: boolean;
}

/** The peers with BFD, in the order of names. */
export function readBfdSessions(tables: Tables, bridge: string): BfdSession[] {
  const interfaces = interfacesIn(tables);
  return readBridgeIds(tables, bridge).tunnels.flatMap(({ peer, bfdIntervalMs }) => {
    if (bfdIntervalMs === undefined) return [];
    const status = textMapColumn(interfaces.get(bfdInterfaceName(peer)), 'bfd_status');
    // `flap_count` counts every change between forwarding and not forwarding.
    return [{ peer, hasBeenUp: Number(status['flap_count'] ?? 0) > 0, isUp: status['forwarding'] === 'true' }];
  });
}

/** With flow-based tunnels there is no port per peer: the peers of the host are kept in external ids of the bridge. */
const TUNNEL_ID_PREFIX = 'muster-tunnel:';

export interface BridgeIds {
  readonly tunnels: readonly Tunnel[];
  readonly externalIds: Readonly<Record<string, string>>;
}

export function readBridgeIds(tables: Tables, bridge: string): BridgeIds {
  const ids = Object.entries(textMapColumn(findBridge(tables, bridge)?.row, 'external_ids'));
  const interfaces = interfacesIn(tables);
  const tunnels = ids.flatMap(([key, address]): Tunnel[] => {
    if (!key.startsWith(TUNNEL_ID_PREFIX)) return [];
    const peer = key.slice(TUNNEL_ID_PREFIX.length);
    const bfdIntervalMs = bfdIntervalMsOf(interfaces.get(bfdInterfaceName(peer)), address);
    return [{ peer, address, ...(bfdIntervalMs !== undefined && { bfdIntervalMs }) }];
  });
  return {
    tunnels: tunnels.sort((one, other) => (one.peer < other.peer ? -1 : 1)),
    externalIds: Object.fromEntries(ids.filter(([key]) => !key.startsWith(TUNNEL_ID_PREFIX))),
  };
}

/** Sets or removes one external id of the bridge. */
export function externalIdOperation(bridge: string, key: string, value: string | null): OvsdbOperation {
  const where = [['name', '==', bridge]] as const;
  const mutations: (readonly [
    'external_ids',
    'delete' | 'insert',
    ReturnType<typeof setOf> | ReturnType<typeof mapOf>,
  ])[] = [['external_ids', 'delete', setOf([key])]];
  if (value !== null) mutations.push(['external_ids', 'insert', mapOf({ [key]: value })]);
  return { op: 'mutate', table: 'Bridge', where, mutations };
}

export function tunnelOperation(bridge: string, peer: string, address: string | null): OvsdbOperation {
  return externalIdOperation(bridge, `${TUNNEL_ID_PREFIX}${peer}`, address);
}

/** Columns of a port that the switch itself updates: mostly its BFD status. */
export function isStatusOnlyChange(change: RowChange): boolean {
  if (change.kind !== 'changed' || change.table !== 'Interface') return false;
  const { before, after } = change;
  return ['name', 'type', 'ofport', 'error', 'options', 'bfd'].every(
    (column) => JSON.stringify(before[column]) === JSON.stringify(after[column]),
  );
}
