// The contents of a switch and the changes that it refuses: a flow that uses a missing group, anything that sends to a peer without a
// tunnel. A list of changes is applied as a whole or not at all.
import { bfdPortName } from './derived-ids.ts';
import { flowKey, type Flow, type FlowGroup, type SwitchChange, type SwitchContents, type Tunnel } from './switch.ts';
import { groupsIn, watchedBfdPortIn, peerAddressesIn } from './flow-syntax.ts';

type Undo = () => void;

/** Up to this many removals, flows are searched for each; beyond, it costs less to scan all flows once. */
const FEW = 8;

export class SwitchState {
  readonly #flows = new Map<string, Flow>();
  readonly #groups = new Map<number, FlowGroup>();
  /** By peer. */
  readonly #tunnels = new Map<string, Tunnel>();
  readonly #externalIds = new Map<string, string>();
  /** How many flows use a group, how many flows and buckets send to an address, and how many tunnels lead there. */
  readonly #uses = new Map<string, number>();
  /** The previous address of the tunnel that was changed last. */
  #previousAddress: string | undefined;
  /** Its previous BFD port. */
  #previousBfdPort: string | undefined;
  #contents: SwitchContents | undefined;

  /** The same object until something changes: an unchanged reference means unchanged contents. */
  get contents(): SwitchContents {
    return (this.#contents ??= this.#buildContents());
  }

  #buildContents(): SwitchContents {
    return {
      flows: [...this.#flows.values()].sort((one, other) => (flowKey(one) < flowKey(other) ? -1 : 1)),
      groups: [...this.#groups.values()].sort((one, other) => one.id - other.id),
      tunnels: [...this.#tunnels.values()].sort((one, other) => (one.peer < other.peer ? -1 : 1)),
      externalIds: Object.fromEntries([...this.#externalIds].sort(([one], [other]) => (one < other ? -1 : 1))),
    };
  }

  /** Makes all changes, or none and returns why. */
  apply(changes: readonly SwitchChange[]): string | undefined {
    this.#contents = undefined;
    const undone: Undo[] = [];
    for (const change of changes) {
      undone.push(this.#applyChange(change));
      const problem = this.#problemAfter(change);
      if (problem === undefined) continue;
      for (const undo of undone.reverse()) undo();
      return problem;
    }
    return undefined;
  }

  #applyChange(change: SwitchChange): Undo {
    switch (change.kind) {
      case 'put-tunnel':
        return this.#setTunnel(change.tunnel.peer, change.tunnel);
      case 'remove-tunnel':
        return this.#setTunnel(change.peer, undefined);
      case 'put-group':
        return this.#setGroup(change.group.id, change.group);
      case 'remove-group':
        return this.#setGroup(change.id, undefined);
      case 'put-flow':
        return this.#setFlow(flowKey(change.flow), change.flow);
      case 'remove-flow':
        return this.#removeFlow(change.flow);
      case 'set-external-id':
        return this.#setExternalId(change.key, change.value ?? undefined);
    }
  }

  #setTunnel(peer: string, tunnel: Tunnel | undefined): Undo {
    const before = this.#tunnels.get(peer);
    this.#previousAddress = before?.address;
    this.#previousBfdPort = before?.bfdIntervalMs === undefined ? undefined : bfdPortName(peer);
    this.#countTunnel(before, -1);
    this.#countTunnel(tunnel, 1);
    replace(this.#tunnels, peer, tunnel);
    return () => this.#setTunnel(peer, before);
  }

  #setGroup(id: number, group: FlowGroup | undefined): Undo {
    const before = this.#groups.get(id);
    this.#countBuckets(before?.buckets ?? [], -1);
    this.#countBuckets(group?.buckets ?? [], 1);
    replace(this.#groups, id, group);
    return () => this.#setGroup(id, before);
  }

  #setFlow(key: string, flow: Flow | undefined): Undo {
    const before = this.#flows.get(key);
    this.#countFlow(before, -1);
    this.#countFlow(flow, 1);
    replace(this.#flows, key, flow);
    return () => this.#setFlow(key, before);
  }

  #removeFlow(flow: Pick<Flow, 'table' | 'priority' | 'match'> & Partial<Flow>): Undo {
    const key = flowKey(flow);
    const there = this.#flows.get(key);
    const isAnothers = flow.cookie !== undefined && there?.cookie !== flow.cookie;
    return this.#setFlow(key, isAnothers ? there : undefined);
  }

  #setExternalId(key: string, value: string | undefined): Undo {
    const before = this.#externalIds.get(key);
    replace(this.#externalIds, key, value);
    return () => this.#setExternalId(key, before);
  }

  #countTunnel(tunnel: Tunnel | undefined, by: number): void {
    if (tunnel === undefined) return;
    this.#count(`to/${tunnel.address}`, by);
    if (tunnel.bfdIntervalMs !== undefined) this.#count(`heartbeat/${bfdPortName(tunnel.peer)}`, by);
  }

  #countBuckets(buckets: readonly string[], by: number): void {
    for (const address of buckets.flatMap(peerAddressesIn)) this.#count(`sends/${address}`, by);
    for (const port of buckets.flatMap((bucket) => watchedBfdPortIn(bucket) ?? [])) this.#count(`watches/${port}`, by);
  }

  #countFlow(flow: Flow | undefined, by: number): void {
    if (flow === undefined) return;
    for (const id of groupsIn(flow.actions)) this.#count(`group/${id}`, by);
    for (const address of peerAddressesIn(flow.actions)) this.#count(`sends/${address}`, by);
  }

  #count(what: string, by: number): void {
    const count = (this.#uses.get(what) ?? 0) + by;
    if (count === 0) this.#uses.delete(what);
    else this.#uses.set(what, count);
  }

  /** Checks only what this change may have broken: nothing was broken before it. */
  #problemAfter(change: SwitchChange): string | undefined {
    switch (change.kind) {
      case 'put-flow':
        return this.#flowProblem(change.flow);
      case 'put-group':
        return this.#groupProblem(change.group);
      case 'remove-group':
        return this.#uses.has(`group/${change.id}`) ? `group ${change.id} is still used by a flow` : undefined;
      case 'put-tunnel':
      case 'remove-tunnel':
        return this.#danglingProblem();
      case 'remove-flow':
      case 'set-external-id':
        return undefined;
    }
  }

  #flowProblem(flow: Flow): string | undefined {
    const missing = groupsIn(flow.actions).find((id) => !this.#groups.has(id));
    if (missing !== undefined) return `flow ${flowKey(flow)} uses group ${missing}, which does not exist`;
    return this.#addressProblem(peerAddressesIn(flow.actions), `flow ${flowKey(flow)}`);
  }

  #groupProblem({ id, type, buckets }: FlowGroup): string | undefined {
    if (type === 'fast-failover' && !buckets.every((bucket) => bucket.startsWith('watch_port:')))
      return `group ${id} is a fast-failover group, and one of its buckets watches no port`;
    const watched = buckets.flatMap((bucket) => watchedBfdPortIn(bucket) ?? []);
    const missing = watched.find((port) => !this.#uses.has(`heartbeat/${port}`));
    if (missing !== undefined) return `group ${id} watches port ${missing}, which does not exist`;
    return this.#addressProblem(buckets.flatMap(peerAddressesIn), `group ${id}`);
  }

  #addressProblem(addresses: readonly string[], what: string): string | undefined {
    const missing = addresses.find((address) => !this.#uses.has(`to/${address}`));
    return missing === undefined ? undefined : `${what} sends to ${missing}, which has no tunnel`;
  }

  /** Whether something sends to the previous address of a tunnel. */
  #danglingProblem(): string | undefined {
    const port = this.#previousBfdPort;
    if (port !== undefined && this.#uses.has(`watches/${port}`) && !this.#uses.has(`heartbeat/${port}`)) {
      return `a group watches port ${port}, which no longer exists`;
    }
    const address = this.#previousAddress;
    if (address === undefined || !this.#uses.has(`sends/${address}`)) return undefined;
    return this.#addressProblem([address], 'something');
  }
}

function replace<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

/** Why a switch with these contents would refuse these changes; undefined when it would not. */
export function findProblem(contents: SwitchContents, changes: readonly SwitchChange[]): string | undefined {
  const state = new SwitchState();
  const { tunnels, groups, flows } = selectRelevant(contents, changes);
  // Foreign groups and flows may refer to anything: only their use of our entries counts.
  state.apply(tunnels.map((tunnel) => ({ kind: 'put-tunnel', tunnel })));
  for (const group of groups) state.apply([{ kind: 'put-group', group }]);
  for (const flow of flows) state.apply([{ kind: 'put-flow', flow }]);
  return state.apply(changes);
}

type RelevantContents = Pick<SwitchContents, 'tunnels' | 'groups' | 'flows'>;

/**
 * A switch may hold much, and little of it can conflict with a few changes: only the changed entries, the users of what is removed, and
 * what these refer to are kept. An added flow may use any tunnel and any group, and an added group any tunnel.
 */
function selectRelevant(contents: SwitchContents, changes: readonly SwitchChange[]): RelevantContents {
  const { matches, peers, groupIds, hasPuts } = collectChangedKeys(changes);
  const left = contents.tunnels.filter(({ peer }) => peers.has(peer));
  const ports = left.flatMap(({ peer, bfdIntervalMs }) => (bfdIntervalMs === undefined ? [] : [bfdPortName(peer)]));
  const removed = [...left.map(({ address }) => address), ...ports, ...[...groupIds].map((id) => `group:${id}`)];
  const uses = (text: string): boolean => removed.some((one) => text.includes(one));
  const flows =
    removed.length > FEW
      ? contents.flows
      : contents.flows.filter(({ match, actions }) => matches.has(match) || uses(actions));
  if (hasPuts) return { ...contents, flows };
  const used = new Set(flows.flatMap(({ actions }) => groupsIn(actions)));
  const groups = contents.groups.filter(({ id, buckets }) => groupIds.has(id) || used.has(id) || buckets.some(uses));
  if (groups.length > 0) return { tunnels: contents.tunnels, groups, flows };
  const addresses = new Set([
    ...left.map(({ address }) => address),
    ...flows.flatMap(({ actions }) => peerAddressesIn(actions)),
  ]);
  return { tunnels: contents.tunnels.filter(({ address }) => addresses.has(address)), groups, flows };
}

interface ChangedKeys {
  /** Of flows. */
  readonly matches: ReadonlySet<string>;
  /** Of tunnels. */
  readonly peers: ReadonlySet<string>;
  readonly groupIds: ReadonlySet<number>;
  /** Whether anything is added that may refer to something. */
  readonly hasPuts: boolean;
}

function collectChangedKeys(changes: readonly SwitchChange[]): ChangedKeys {
  const matches = new Set<string>();
  const peers = new Set<string>();
  const groupIds = new Set<number>();
  for (const change of changes) {
    if (change.kind === 'put-flow' || change.kind === 'remove-flow') matches.add(change.flow.match);
    if (change.kind === 'remove-group') groupIds.add(change.id);
    if (change.kind === 'remove-tunnel') peers.add(change.peer);
    if (change.kind === 'put-tunnel') peers.add(change.tunnel.peer);
  }
  return { matches, peers, groupIds, hasPuts: changes.some(({ kind }) => kind.startsWith('put-')) };
}
