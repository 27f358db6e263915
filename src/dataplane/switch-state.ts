// What a switch holds, and what it does not take: a flow that uses a group which is not there, anything that sends to a peer
// without a tunnel. A list of changes is taken as a whole or not at all.
import { flowKey } from './compile.ts';
import { heartbeatPort } from './keys.ts';
import type { Flow, Group, SwitchChange, SwitchContents, Tunnel } from './switch.ts';
import { groupsIn, heartbeatIn, peersIn } from './words.ts';

type Undo = () => void;

/** Of things that go, flows are looked through for that many; for more of them it costs less to take all flows. */
const FEW = 8;

export class SwitchState {
  readonly #flows = new Map<string, Flow>();
  readonly #groups = new Map<number, Group>();
  /** By peer. */
  readonly #tunnels = new Map<string, Tunnel>();
  readonly #externalIds = new Map<string, string>();
  /** How many flows use a group, and how many flows and buckets send to an address; how many tunnels lead there. */
  readonly #uses = new Map<string, number>();
  /** Where the tunnel led that was changed last. */
  #left: string | undefined;
  /** The port for heartbeats that it had. */
  #leftHeartbeat: string | undefined;
  #shown: SwitchContents | undefined;

  /** The same object until something changes: whoever has seen it knows that nothing did. */
  get contents(): SwitchContents {
    return (this.#shown ??= this.#show());
  }

  #show(): SwitchContents {
    return {
      flows: [...this.#flows.values()].sort((one, other) => (flowKey(one) < flowKey(other) ? -1 : 1)),
      groups: [...this.#groups.values()].sort((one, other) => one.id - other.id),
      tunnels: [...this.#tunnels.values()].sort((one, other) => (one.peer < other.peer ? -1 : 1)),
      externalIds: Object.fromEntries([...this.#externalIds].sort(([one], [other]) => (one < other ? -1 : 1))),
    };
  }

  /** Makes all of the changes, or none and says why. */
  apply(changes: readonly SwitchChange[]): string | undefined {
    this.#shown = undefined;
    const undone: Undo[] = [];
    for (const change of changes) {
      undone.push(this.#make(change));
      const problem = this.#problemAfter(change);
      if (problem === undefined) continue;
      for (const undo of undone.reverse()) undo();
      return problem;
    }
    return undefined;
  }

  #make(change: SwitchChange): Undo {
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
    this.#left = before?.address;
    this.#leftHeartbeat = before?.heartbeatMs === undefined ? undefined : heartbeatPort(peer);
    this.#countTunnel(before, -1);
    this.#countTunnel(tunnel, 1);
    replace(this.#tunnels, peer, tunnel);
    return () => this.#setTunnel(peer, before);
  }

  #setGroup(id: number, group: Group | undefined): Undo {
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
    if (tunnel.heartbeatMs !== undefined) this.#count(`heartbeat/${heartbeatPort(tunnel.peer)}`, by);
  }

  #countBuckets(buckets: readonly string[], by: number): void {
    for (const address of buckets.flatMap(peersIn)) this.#count(`sends/${address}`, by);
    for (const port of buckets.flatMap((bucket) => heartbeatIn(bucket) ?? [])) this.#count(`watches/${port}`, by);
  }

  #countFlow(flow: Flow | undefined, by: number): void {
    if (flow === undefined) return;
    for (const id of groupsIn(flow.actions)) this.#count(`group/${id}`, by);
    for (const address of peersIn(flow.actions)) this.#count(`sends/${address}`, by);
  }

  #count(what: string, by: number): void {
    const count = (this.#uses.get(what) ?? 0) + by;
    if (count === 0) this.#uses.delete(what);
    else this.#uses.set(what, count);
  }

  /** Only what this change may have broken is looked at: each change before it left nothing broken. */
  #problemAfter(change: SwitchChange): string | undefined {
    switch (change.kind) {
      case 'put-flow':
        return this.#flowProblem(change.flow);
      case 'put-group':
        return this.#groupProblem(change.group);
      case 'remove-group':
        return this.#uses.has(`group/${change.id}`) ? `group ${change.id} is used by a flow` : undefined;
      case 'put-tunnel':
      case 'remove-tunnel':
        return this.#leftBehind();
      case 'remove-flow':
      case 'set-external-id':
        return undefined;
    }
  }

  #flowProblem(flow: Flow): string | undefined {
    const missing = groupsIn(flow.actions).find((id) => !this.#groups.has(id));
    if (missing !== undefined) return `flow ${flowKey(flow)} uses group ${missing}, which is not there`;
    return this.#addressProblem(peersIn(flow.actions), `flow ${flowKey(flow)}`);
  }

  #groupProblem({ id, type, buckets }: Group): string | undefined {
    if (type === 'fast-failover' && !buckets.every((bucket) => bucket.startsWith('watch_port:')))
      return `group ${id} fails over, and one of its buckets watches nothing`;
    const watched = buckets.flatMap((bucket) => heartbeatIn(bucket) ?? []);
    const missing = watched.find((port) => !this.#uses.has(`heartbeat/${port}`));
    if (missing !== undefined) return `group ${id} watches ${missing}, which is not there`;
    return this.#addressProblem(buckets.flatMap(peersIn), `group ${id}`);
  }

  #addressProblem(addresses: readonly string[], what: string): string | undefined {
    const missing = addresses.find((address) => !this.#uses.has(`to/${address}`));
    return missing === undefined ? undefined : `${what} sends to ${missing}, to which there is no tunnel`;
  }

  /** Whether something sends to the address that a tunnel just had. */
  #leftBehind(): string | undefined {
    const port = this.#leftHeartbeat;
    if (port !== undefined && this.#uses.has(`watches/${port}`) && !this.#uses.has(`heartbeat/${port}`)) {
      return `something watches ${port}, which is not there any more`;
    }
    const address = this.#left;
    if (address === undefined || !this.#uses.has(`sends/${address}`)) return undefined;
    return this.#addressProblem([address], 'something');
  }
}

function replace<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

/** Why a switch with these contents would not take these changes; undefined when it would. */
export function problemWith(
  { tunnels, groups, flows }: SwitchContents,
  changes: readonly SwitchChange[],
): string | undefined {
  const state = new SwitchState();
  // Others' groups and flows may point wherever they like: only what they use of ours counts.
  state.apply(tunnels.map((tunnel) => ({ kind: 'put-tunnel', tunnel })));
  for (const group of groups) state.apply([{ kind: 'put-group', group }]);
  for (const flow of flowsConcerned(flows, tunnels, changes)) state.apply([{ kind: 'put-flow', flow }]);
  return state.apply(changes);
}

/**
 * A switch may have many flows, and few of them can be in the way of a few changes: those that change themselves, and those that use
 * something which goes.
 */
function flowsConcerned(
  flows: readonly Flow[],
  tunnels: readonly Tunnel[],
  changes: readonly SwitchChange[],
): readonly Flow[] {
  const matches = new Set<string>();
  const peers = new Set<string>();
  const gone: string[] = [];
  for (const change of changes) {
    if (change.kind === 'put-flow' || change.kind === 'remove-flow') matches.add(change.flow.match);
    if (change.kind === 'remove-group') gone.push(`group:${change.id}`);
    if (change.kind === 'remove-tunnel') peers.add(change.peer);
    if (change.kind === 'put-tunnel') peers.add(change.tunnel.peer);
  }
  for (const { peer, address } of tunnels) if (peers.has(peer)) gone.push(address);
  if (gone.length > FEW) return flows;
  return flows.filter(({ match, actions }) => matches.has(match) || gone.some((one) => actions.includes(one)));
}
