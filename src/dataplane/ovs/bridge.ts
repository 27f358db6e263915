// The integration bridge in the words of the switch's database: what is there, and what it takes to have it as it should be. Pure.
import type { Monitor, MonitoredTables } from '../ovsdb/monitor.ts';
import type { Operation } from '../ovsdb/operation.ts';
import type { RowChange } from '../ovsdb/replica.ts';
import { numberIn, textIn, textsIn, uuidsIn } from '../ovsdb/read-column.ts';
import { mapOf, setOf, type Row } from '../ovsdb/value.ts';
import type { Identity, Tunnel } from '../switch.ts';
import { heartbeatPort } from '../keys.ts';
import { EXTERNAL_PORT, TUNNEL_PORT } from '../tables.ts';

export const DATABASE = 'Open_vSwitch';

export const BRIDGE_TABLES: MonitoredTables = {
  Open_vSwitch: ['bridges', 'external_ids', 'cur_cfg', 'next_cfg', 'datapath_types'],
  Bridge: ['name', 'ports', 'datapath_id', 'datapath_type', 'external_ids', 'fail_mode', 'protocols'],
  Port: ['name', 'interfaces', 'external_ids'],
  Interface: ['name', 'type', 'ofport', 'error', 'options', 'bfd', 'bfd_status'],
};

export interface BridgePlan {
  readonly bridge: string;
  /** The interface or the bridge that leads outside; nothing does when it is not said. */
  readonly external?: string | undefined;
  /** `netdev` is the datapath in user space. */
  readonly datapath: 'system' | 'netdev';
}

const bare = (quoted: string): string => quoted.slice(1, -1);
const TUNNEL_NAME = bare(TUNNEL_PORT);
export const EXTERNAL_NAME = bare(EXTERNAL_PORT);
const FAR_EXTERNAL_NAME = `${EXTERNAL_NAME}-far`;

type Tables = Pick<Monitor, 'table'>;
interface Found {
  readonly uuid: string;
  readonly row: Row;
}

function named(tables: Tables, table: string, name: string): Found | undefined {
  for (const [uuid, row] of tables.table(table)) if (textIn(row, 'name') === name) return { uuid, row };
  return undefined;
}

export function bridgeIn(tables: Tables, name: string): Found | undefined {
  return named(tables, 'Bridge', name);
}

export function identityIn(tables: Tables, bridge: string): Identity {
  const [root] = tables.table('Open_vSwitch').values();
  const systemId = textsIn(root, 'external_ids')['system-id'];
  const found = bridgeIn(tables, bridge);
  const datapathId = textIn(found?.row, 'datapath_id');
  return {
    ...(datapathId !== undefined && datapathId !== '' && { datapathId }),
    ...(systemId !== undefined && { systemId }),
    ...(found !== undefined && { bridge: found.uuid }),
  };
}

export interface PortRow {
  readonly name: string;
  readonly ofport: number;
  readonly row: Row;
}

/** The interfaces of the bridge that packets can go through. */
export function portsIn(tables: Tables, bridge: string): PortRow[] {
  const interfaces = uuidsIn(bridgeIn(tables, bridge)?.row, 'ports').flatMap((port) =>
    uuidsIn(tables.table('Port').get(port), 'interfaces'),
  );
  return interfaces.flatMap((uuid) => {
    const row = tables.table('Interface').get(uuid);
    const [name, ofport] = [textIn(row, 'name'), numberIn(row, 'ofport')];
    if (row === undefined || name === undefined || ofport === undefined || ofport < 1 || name === bridge) return [];
    return [{ name, ofport, row }];
  });
}

/** The interfaces of the bridge that are not there for the bridge itself, also those that have no device behind them. */
export function pluggedIn(tables: Tables, plan: BridgePlan): string[] {
  const { bridge } = plan;
  const heartbeats = idsIn(tables, bridge).tunnels.map(({ peer }) => heartbeatName(peer));
  const own = new Set([bridge, TUNNEL_NAME, EXTERNAL_NAME, externalIn(tables, plan), ...heartbeats]);
  const interfaces = uuidsIn(bridgeIn(tables, bridge)?.row, 'ports').flatMap((port) =>
    uuidsIn(tables.table('Port').get(port), 'interfaces'),
  );
  const names = interfaces.flatMap((uuid) => textIn(tables.table('Interface').get(uuid), 'name') ?? []);
  return names.filter((name) => !own.has(name)).sort();
}

/** The way out by its own name, or the patch to the bridge that it is. */
export function externalIn(tables: Tables, { external }: BridgePlan): string | undefined {
  if (external === undefined) return undefined;
  return bridgeIn(tables, external) === undefined ? external : EXTERNAL_NAME;
}

/** What it takes to have the bridge, without any port of ours. Nothing when it is there. */
export function bridgeChange(tables: Tables, plan: BridgePlan): Operation[] {
  const found = bridgeIn(tables, plan.bridge);
  return found === undefined ? newBridge(plan) : keptBridge(found);
}

/** What it takes to have the tunnel port and the way out, once the bridge is there. Nothing when they are. */
export function settingUp(tables: Tables, plan: BridgePlan): Operation[] {
  const here = { uuid: bridgeIn(tables, plan.bridge)?.uuid, name: plan.bridge };
  return [
    ...missingPort(tables, here, {
      name: TUNNEL_NAME,
      row: { type: 'vxlan', options: mapOf({ remote_ip: 'flow', key: 'flow' }) },
    }),
    ...wayOut(tables, plan, here),
  ];
}

/** What it takes to have none of them any more. An interface that somebody else plugged in is left where it is. */
export function tearingDown(tables: Tables, { bridge, external }: BridgePlan): Operation[] {
  const isOurs = external !== undefined && isMadeByUs(named(tables, 'Port', external)?.row);
  return [
    ...unplugging(tables, bridge, TUNNEL_NAME),
    ...unplugging(tables, bridge, EXTERNAL_NAME),
    ...(external === undefined ? [] : unplugging(tables, external, FAR_EXTERNAL_NAME)),
    ...(isOurs ? unplugging(tables, bridge, external) : []),
  ];
}

/** On a port with a name that is not ours: who plugged it in. */
const MADE_BY = { 'made-by': 'muster' } as const;

function isMadeByUs(row: Row | undefined): boolean {
  return textsIn(row, 'external_ids')['made-by'] === MADE_BY['made-by'];
}

interface At {
  readonly uuid: string | undefined;
  readonly name: string;
}

function wayOut(tables: Tables, plan: BridgePlan, here: At): Operation[] {
  const { external } = plan;
  if (external === undefined) return [];
  const there = bridgeIn(tables, external);
  if (there === undefined) return missingPort(tables, here, { name: external, row: {}, ids: MADE_BY });
  return [
    ...missingPort(tables, here, patch(EXTERNAL_NAME, FAR_EXTERNAL_NAME)),
    ...missingPort(tables, { uuid: there.uuid, name: external }, patch(FAR_EXTERNAL_NAME, EXTERNAL_NAME)),
  ];
}

function patch(name: string, peer: string): PortPlan {
  return { name, row: { type: 'patch', options: mapOf({ peer }) } };
}

const PROTOCOLS = ['OpenFlow10', 'OpenFlow13', 'OpenFlow14'];

function newBridge({ bridge, datapath }: BridgePlan): Operation[] {
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

/** Without a controller a bridge would forward by itself; and it must speak what we speak. */
function keptBridge({ uuid, row }: Found): Operation[] {
  const where = [['_uuid', '==', { uuid }]] as const;
  const spoken = row['protocols'];
  const speaks = JSON.stringify(spoken ?? '').includes('OpenFlow14');
  const speaksAll = typeof spoken === 'object' && 'set' in spoken && spoken.set.length === 0;
  return [
    ...(textIn(row, 'fail_mode') === 'secure'
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
  readonly row: Row;
  /** External ids of the port. */
  readonly ids?: Readonly<Record<string, string>>;
}

function missingPort(tables: Tables, at: At, plan: PortPlan): Operation[] {
  return named(tables, 'Port', plan.name) === undefined ? newPort(at, plan) : [];
}

/** A port with one interface of the same name. */
function newPort({ uuid, name: bridge }: At, { name, row, ids = {} }: PortPlan): Operation[] {
  const id = name.replaceAll(/[^A-Za-z0-9]/g, '_');
  const inserted: Operation[] = [
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

export function plugging(tables: Tables, bridge: string, name: string): Operation[] {
  return missingPort(tables, { uuid: bridgeIn(tables, bridge)?.uuid, name: bridge }, { name, row: {} });
}

/** The database forgets a port that no bridge has. */
export function unplugging(tables: Tables, bridge: string, name: string): Operation[] {
  const port = named(tables, 'Port', name);
  if (port === undefined) return [];
  const mutations = [['ports', 'delete', setOf([{ uuid: port.uuid }])]] as const;
  return [{ op: 'mutate', table: 'Bridge', where: [['name', '==', bridge]], mutations }];
}

/** Not VXLAN: a port per peer would take what the one for all is there for. Its key tells it from others' tunnels. */
const HEARTBEAT_KEY = '1';

const heartbeatName = (peer: string): string => bare(heartbeatPort(peer));

function heartbeatRow({ address, heartbeatMs }: Tunnel): Row {
  const ms = String(heartbeatMs);
  return {
    type: 'geneve',
    options: mapOf({ remote_ip: address, key: HEARTBEAT_KEY }),
    bfd: mapOf({ enable: 'true', min_tx: ms, min_rx: ms }),
  };
}

/** What it takes to exchange heartbeats with a peer as often as is said, or not at all. */
export function heartbeatChange(tables: Tables, bridge: string, tunnel: Tunnel): Operation[] {
  const name = heartbeatName(tunnel.peer);
  if (tunnel.heartbeatMs === undefined) return unplugging(tables, bridge, name);
  const row = heartbeatRow(tunnel);
  const found = bridgeIn(tables, bridge);
  if (named(tables, 'Port', name) === undefined) return newPort({ uuid: found?.uuid, name: bridge }, { name, row });
  return [{ op: 'update', table: 'Interface', where: [['name', '==', name]], row }];
}

/** By their names: there may be as many as peers. */
function interfacesIn(tables: Tables): ReadonlyMap<string, Row> {
  return new Map([...tables.table('Interface').values()].map((row) => [textIn(row, 'name') ?? '', row]));
}

function heartbeatMsOf(row: Row | undefined, address: string): number | undefined {
  const { enable, min_tx: ms } = textsIn(row, 'bfd');
  return enable === 'true' && textsIn(row, 'options')['remote_ip'] === address ? Number(ms) : undefined;
}

export interface Listening {
  readonly peer: string;
  /** Since the port is there: who was never heard may just not have begun. */
  readonly hasHeard: boolean;
  readonly hears: boolean;
}

/** Whom this host listens for, in the order of names. */
export function listeningIn(tables: Tables, bridge: string): Listening[] {
  const interfaces = interfacesIn(tables);
  return idsIn(tables, bridge).tunnels.flatMap(({ peer, heartbeatMs }) => {
    if (heartbeatMs === undefined) return [];
    const status = textsIn(interfaces.get(heartbeatName(peer)), 'bfd_status');
    // It counts every change between forwarding and not.
    return [{ peer, hasHeard: Number(status['flap_count'] ?? 0) > 0, hears: status['forwarding'] === 'true' }];
  });
}

/** With flow-based tunnels there is no port per peer: whom the host has tunnels with is written down beside the bridge. */
const TUNNEL_ID = 'muster-tunnel:';

export interface OutsideIds {
  readonly tunnels: readonly Tunnel[];
  readonly externalIds: Readonly<Record<string, string>>;
}

export function idsIn(tables: Tables, bridge: string): OutsideIds {
  const ids = Object.entries(textsIn(bridgeIn(tables, bridge)?.row, 'external_ids'));
  const interfaces = interfacesIn(tables);
  const tunnels = ids.flatMap(([key, address]): Tunnel[] => {
    if (!key.startsWith(TUNNEL_ID)) return [];
    const peer = key.slice(TUNNEL_ID.length);
    const heartbeatMs = heartbeatMsOf(interfaces.get(heartbeatName(peer)), address);
    return [{ peer, address, ...(heartbeatMs !== undefined && { heartbeatMs }) }];
  });
  return {
    tunnels: tunnels.sort((one, other) => (one.peer < other.peer ? -1 : 1)),
    externalIds: Object.fromEntries(ids.filter(([key]) => !key.startsWith(TUNNEL_ID))),
  };
}

/** Sets or takes away one external id of the bridge. */
export function idChange(bridge: string, key: string, value: string | null): Operation {
  const where = [['name', '==', bridge]] as const;
  const mutations: (readonly [
    'external_ids',
    'delete' | 'insert',
    ReturnType<typeof setOf> | ReturnType<typeof mapOf>,
  ])[] = [['external_ids', 'delete', setOf([key])]];
  if (value !== null) mutations.push(['external_ids', 'insert', mapOf({ [key]: value })]);
  return { op: 'mutate', table: 'Bridge', where, mutations };
}

export function tunnelChange(bridge: string, peer: string, address: string | null): Operation {
  return idChange(bridge, `${TUNNEL_ID}${peer}`, address);
}

/** What the switch says of a port by itself: whether heartbeats come, mostly. */
export function isStatusAlone(change: RowChange): boolean {
  if (change.kind !== 'changed' || change.table !== 'Interface') return false;
  const { before, after } = change;
  return ['name', 'type', 'ofport', 'error', 'options', 'bfd'].every(
    (column) => JSON.stringify(before[column]) === JSON.stringify(after[column]),
  );
}
