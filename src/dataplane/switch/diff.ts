// From the contents of a switch to the desired ones, in the fewest changes and in an order in which nothing ever refers to something
// missing: tunnels, groups, flows; removal in the reverse order. What is not ours is never touched.
import { FlowIndex } from './flow-index.ts';
import { bfdPortName, isOurCookie, isOurGroup } from './derived-ids.ts';
import {
  TOMBSTONED_KEY,
  type Flow,
  type FlowGroup,
  type SwitchChange,
  type SwitchContents,
  type Tunnel,
} from './switch.ts';
import { groupsIn, output, peerAddressesIn, portNamesIn } from './flow-syntax.ts';

export interface SwitchDiff {
  readonly changes: readonly SwitchChange[];
  /** Foreign flows with the match of one of ours: only their owner can remove them. */
  readonly conflicts: readonly Flow[];
  /** Ports that are not plugged in yet: flows that name them are added when they are. */
  readonly missingPorts: readonly string[];
}

/** A group that has to exist and must send nowhere for the moment. */
const SENDS_NOWHERE = 'drop';
const NONE: readonly string[] = [];

export function diff(compiled: SwitchContents, read: SwitchContents): SwitchDiff {
  const { wanted, missingPorts } = omitMissingPorts(compiled, read.ports && [...read.ports, ...bfdPortsOf(compiled)]);
  const theirs = read.flows.filter(({ cookie }) => !isOurCookie(cookie));
  const aside = detachFromMoved(read, listMovedTunnelAddresses(wanted.tunnels, read.tunnels));
  const groups = new Map([...read.groups, ...aside.groups].map((group) => [group.id, group]));
  const { put, removed, conflicts } = flowChanges(wanted.flows, read.flows, aside.flows);
  return {
    changes: [
      ...externalIdsToSet(wanted, read),
      ...aside.flows.map(removeFlow),
      ...aside.groups.map(putGroup),
      ...tunnelsToPut(wanted.tunnels, read.tunnels),
      ...wanted.groups.filter((group) => !isSameGroup(groups.get(group.id), group)).map(putGroup),
      ...put.map(putFlow),
      ...removed.map(removeFlow),
      ...listStaleGroups(wanted, [...groups.values()], theirs),
      ...bfdToDisable(wanted.tunnels, read.tunnels),
      ...listStaleTunnels(wanted, read, theirs).map(({ peer }): SwitchChange => ({ kind: 'remove-tunnel', peer })),
      ...externalIdsToRemove(wanted, read),
    ],
    conflicts,
    missingPorts,
  };
}

interface FlowChanges {
  readonly put: readonly Flow[];
  readonly removed: readonly Flow[];
  readonly conflicts: readonly Flow[];
}

/** Each flow is visited once: there may be a hundred thousand. */
function flowChanges(wanted: readonly Flow[], read: readonly Flow[], aside: readonly Flow[]): FlowChanges {
  const there = new FlowIndex(read);
  for (const flow of aside) there.take(flow);
  const [put, removed, conflicts]: [Flow[], Flow[], Flow[]] = [[], [], []];
  for (const flow of wanted) {
    const other = there.take(flow);
    if (isOutdated(flow, other)) put.push(flow);
    if (other !== undefined && !isOurCookie(other.cookie)) conflicts.push(other);
  }
  for (const flow of there.listRemainingFlows()) if (isOurCookie(flow.cookie)) removed.push(flow);
  return { put, removed, conflicts };
}

interface FeasibleContents {
  readonly wanted: SwitchContents;
  readonly missingPorts: readonly string[];
}

/** A switch refuses a flow that matches on a missing port; from a list of outputs such a port is left out. */
function omitMissingPorts(compiled: SwitchContents, ports: SwitchContents['ports']): FeasibleContents {
  if (ports === undefined) return { wanted: compiled, missingPorts: [] };
  const there = new Set(ports);
  const missing = new Set<string>();
  const absentIn = (text: string): readonly string[] =>
    text.includes('"') ? portNamesIn(text).filter((port) => !there.has(port)) : NONE;
  const flows: Flow[] = [];
  for (const flow of compiled.flows) {
    const [unmatched, unsent] = [absentIn(flow.match), absentIn(flow.actions)];
    for (const port of unmatched) missing.add(port);
    for (const port of unsent) missing.add(port);
    if (unmatched.length > 0) continue;
    flows.push(unsent.length === 0 ? flow : { ...flow, actions: removeOutputs(flow.actions, unsent) });
  }
  const groups = compiled.groups.map((group) => {
    const unsent = group.buckets.flatMap(absentIn);
    for (const port of unsent) missing.add(port);
    return unsent.length === 0
      ? group
      : { ...group, buckets: group.buckets.filter((one) => absentIn(one).length === 0) };
  });
  return { wanted: { ...compiled, flows, groups }, missingPorts: [...missing].sort() };
}

/** They are created with their tunnels. */
function bfdPortsOf({ tunnels }: SwitchContents): string[] {
  return tunnels.flatMap(({ peer, bfdIntervalMs }) => (bfdIntervalMs === undefined ? [] : [bfdPortName(peer)]));
}

function removeOutputs(actions: string, ports: readonly string[]): string {
  const outputs = new Set(ports.map(output));
  const left = actions.split(',').filter((step) => !outputs.has(step));
  return left.length === 0 ? SENDS_NOWHERE : left.join(',');
}

/** Addresses that a peer no longer has: flows to them are removed before the tunnel changes. */
function listMovedTunnelAddresses(wanted: readonly Tunnel[], read: readonly Tunnel[]): ReadonlySet<string> {
  const next = new Map(wanted.map(({ peer, address }) => [peer, address]));
  const moved = read.filter(({ peer, address }) => next.has(peer) && next.get(peer) !== address);
  return new Set(moved.map(({ address }) => address));
}

interface DetachedTraffic {
  readonly flows: readonly Flow[];
  readonly groups: readonly FlowGroup[];
}

function detachFromMoved(read: SwitchContents, moved: ReadonlySet<string>): DetachedTraffic {
  if (moved.size === 0) return { flows: [], groups: [] };
  const sendsThere = (text: string): boolean => peerAddressesIn(text).some((address) => moved.has(address));
  return {
    flows: read.flows.filter(({ cookie, actions }) => isOurCookie(cookie) && sendsThere(actions)),
    groups: read.groups.filter(({ id, buckets }) => isOurGroup(id) && buckets.some(sendsThere)).map(emptyGroup),
  };
}

/** A fast-failover bucket has to watch a port; a bucket without actions is refused there, so the group gets another type. */
function emptyGroup({ id, type }: FlowGroup): FlowGroup {
  return { id, type: type === 'fast-failover' ? 'indirect' : type, buckets: [SENDS_NOWHERE] };
}

/** Before anything sends there. A tunnel that only loses its BFD session keeps it for as long as groups may watch it. */
function tunnelsToPut(wanted: readonly Tunnel[], read: readonly Tunnel[]): SwitchChange[] {
  const there = new Map(read.map((tunnel) => [tunnel.peer, tunnel]));
  return wanted.flatMap((tunnel): SwitchChange[] => {
    const before = there.get(tunnel.peer);
    const kept = tunnel.bfdIntervalMs ?? before?.bfdIntervalMs;
    if (before?.address === tunnel.address && before.bfdIntervalMs === kept) return [];
    return [{ kind: 'put-tunnel', tunnel: { ...tunnel, ...(kept !== undefined && { bfdIntervalMs: kept }) } }];
  });
}

function bfdToDisable(wanted: readonly Tunnel[], read: readonly Tunnel[]): SwitchChange[] {
  const had = new Set(read.filter(({ bfdIntervalMs }) => bfdIntervalMs !== undefined).map(({ peer }) => peer));
  return wanted
    .filter(({ peer, bfdIntervalMs }) => bfdIntervalMs === undefined && had.has(peer))
    .map((tunnel) => ({ kind: 'put-tunnel', tunnel }));
}

function isOutdated(flow: Flow, there: Flow | undefined): boolean {
  if (there === undefined) return true;
  return isOurCookie(there.cookie) && (there.actions !== flow.actions || there.cookie !== flow.cookie);
}

/** A group that a foreign flow uses stays until that flow is removed, and sends nowhere. */
function listStaleGroups(
  wanted: SwitchContents,
  groups: readonly FlowGroup[],
  theirs: readonly Flow[],
): SwitchChange[] {
  const ids = new Set(wanted.groups.map(({ id }) => id));
  const used = new Set(theirs.flatMap(({ actions }) => groupsIn(actions)));
  return groups.flatMap((group): SwitchChange[] => {
    if (!isOurGroup(group.id) || ids.has(group.id)) return [];
    if (!used.has(group.id)) return [{ kind: 'remove-group', id: group.id }];
    const emptied = emptyGroup(group);
    return isSameGroup(group, emptied) ? [] : [putGroup(emptied)];
  });
}

function listStaleTunnels(wanted: SwitchContents, read: SwitchContents, theirs: readonly Flow[]): Tunnel[] {
  const peers = new Set(wanted.tunnels.map(({ peer }) => peer));
  const others = read.groups.filter(({ id }) => !isOurGroup(id)).flatMap(({ buckets }) => buckets);
  const used = new Set([...theirs.map(({ actions }) => actions), ...others].flatMap(peerAddressesIn));
  return read.tunnels.filter(({ peer, address }) => !peers.has(peer) && !used.has(address));
}

/** Only one of the external ids is ours. */
function externalIdsToSet(
  { externalIds: wanted }: SwitchContents,
  { externalIds: read }: SwitchContents,
): SwitchChange[] {
  const value = wanted[TOMBSTONED_KEY];
  if (value === undefined || value === read[TOMBSTONED_KEY]) return [];
  return [{ kind: 'set-external-id', key: TOMBSTONED_KEY, value }];
}

function externalIdsToRemove(
  { externalIds: wanted }: SwitchContents,
  { externalIds: read }: SwitchContents,
): SwitchChange[] {
  if (wanted[TOMBSTONED_KEY] !== undefined || read[TOMBSTONED_KEY] === undefined) return [];
  return [{ kind: 'set-external-id', key: TOMBSTONED_KEY, value: null }];
}

function isSameGroup(one: FlowGroup | undefined, other: FlowGroup): boolean {
  if (one?.type !== other.type || one.buckets.length !== other.buckets.length) return false;
  return one.buckets.every((bucket, nth) => bucket === other.buckets[nth]);
}

function putGroup(group: FlowGroup): SwitchChange {
  return { kind: 'put-group', group };
}

function putFlow(flow: Flow): SwitchChange {
  return { kind: 'put-flow', flow };
}

function removeFlow({ table, priority, match, cookie }: Flow): SwitchChange {
  return { kind: 'remove-flow', flow: { table, priority, match, cookie } };
}
