// A cluster as one incarnation of a server reaches it: every call takes a path that delays and loses, or is answered by a status. What was sent and not answered has
// arrived, or never does: a request that comes long after its connection was closed is not played.
import {
  ClusterRefused,
  ClusterUnreachable,
  type BootstrapToken,
  type ClusterCallOptions,
  type ClusterApi,
  type ClusterFacts,
  type ClusterNode,
  type EvictionAnswer,
  type NodeContents,
  type NodeMarks,
  type NodeRef,
  type NodeRegistration,
  type PodEviction,
  type WatchedChange,
  type WatchedKind,
} from '../../../src/kubernetes/cluster-api/cluster-api.ts';
import { CLUSTER } from '../../../src/kubernetes/index.ts';
import type { ClusterApis } from '../../../src/kubernetes/drain/nodes-driver.ts';
import { podId } from '../../../src/kubernetes/cluster-api/simulated/objects.ts';
import { idOf } from '../../../src/fleet/index.ts';
import { INSTANCE } from '../../../src/instances/index.ts';
import type { ReplyHandle } from '../../kernel/program.ts';
import type { IncarnationContext } from '../server.ts';
import type { World } from '../world.ts';
import { stateOf, type ClusterCall, type ClusterContents } from './cluster-calls.ts';
import type { SimCluster } from './sim-cluster.ts';

export class SimClusterApis implements ClusterApis {
  readonly #world: World;
  readonly #by: IncarnationContext;

  constructor(world: World, by: IncarnationContext) {
    this.#world = world;
    this.#by = by;
  }

  apiOf(name: string): ClusterApi | undefined {
    if (this.#by.journal.fleet.get(CLUSTER, idOf(CLUSTER, name)) === undefined) return undefined;
    const cluster = this.#world.clusters.find((one) => one.name === name);
    return cluster && new ClusterPort(cluster, this.#world, this.#by);
  }
}

const ALONE: ClusterCallOptions = { signal: new AbortController().signal };

class ClusterPort implements ClusterApi {
  readonly #cluster: SimCluster;
  readonly #world: World;
  readonly #by: IncarnationContext;

  constructor(cluster: SimCluster, world: World, by: IncarnationContext) {
    this.#cluster = cluster;
    this.#world = world;
    this.#by = by;
  }

  readFacts(how: ClusterCallOptions): Promise<ClusterFacts> {
    return this.#exchange({ name: 'readFacts' }, how, (memory) => memory.readFacts(ALONE));
  }

  listNodes(how: ClusterCallOptions): Promise<readonly ClusterNode[]> {
    return this.#exchange({ name: 'listNodes' }, how, (memory) => memory.listNodes(ALONE));
  }

  readNode(name: string, how: ClusterCallOptions): Promise<ClusterNode | undefined> {
    return this.#exchange({ name: `readNode ${name}` }, how, (memory) => memory.readNode(name, ALONE));
  }

  markNode(node: NodeRef, marks: NodeMarks, how: ClusterCallOptions): Promise<ClusterNode | undefined> {
    const changed = { call: 'markNode', node: node.name, uid: node.uid, marks } as const;
    return this.#exchange({ name: `markNode ${node.name}`, changed, onConflict: () => undefined }, how, (memory) =>
      memory.markNode(node, marks, ALONE),
    );
  }

  deleteNode(node: NodeRef, how: ClusterCallOptions): Promise<'deleted' | 'gone'> {
    const changed = { call: 'deleteNode', node: node.name, uid: node.uid } as const;
    return this.#exchange(
      { name: `deleteNode ${node.name}`, changed, onConflict: () => 'gone' as const },
      how,
      (memory) => memory.deleteNode(node, ALONE),
    );
  }

  readContents(node: string, how: ClusterCallOptions): Promise<NodeContents> {
    return this.#exchange({ name: `readContents ${node}` }, how, (memory) => memory.readContents(node, ALONE));
  }

  evict(pod: PodEviction, how: ClusterCallOptions): Promise<EvictionAnswer> {
    const { node } = this.#cluster.memory.objects.pods.get(podId(pod.namespace, pod.name)) ?? {};
    const changed = { call: 'evict', node, pod } as const;
    return this.#exchange(
      { name: `evict ${pod.name}`, changed, onConflict: () => ({ kind: 'gone' }) as const },
      how,
      (memory) => memory.evict(pod, ALONE),
    );
  }

  countVolumeAttachments(node: string, how: ClusterCallOptions): Promise<number> {
    return this.#exchange({ name: `countVolumeAttachments ${node}` }, how, (memory) =>
      memory.countVolumeAttachments(node, ALONE),
    );
  }

  createBootstrapToken(token: BootstrapToken, how: ClusterCallOptions): Promise<void> {
    return this.#exchange({ name: `createBootstrapToken ${token.id}` }, how, (memory) =>
      memory.createBootstrapToken(token, ALONE),
    );
  }

  revokeBootstrapToken(id: string, how: ClusterCallOptions): Promise<void> {
    return this.#exchange({ name: `revokeBootstrapToken ${id}` }, how, (memory) =>
      memory.revokeBootstrapToken(id, ALONE),
    );
  }

  /** Whose machine has no power, or whose kubelet says nothing, renews nothing. */
  heartbeatNode(node: NodeRegistration, how: ClusterCallOptions): Promise<ClusterNode> {
    const changed = { call: 'heartbeatNode', node: node.name } as const;
    return this.#exchange({ name: `heartbeatNode ${node.name}`, changed }, how, async (memory) => {
      if (this.#isAlive(node.name)) return memory.heartbeatNode(node, ALONE);
      const known = await memory.readNode(node.name, ALONE);
      if (known === undefined) throw new ClusterUnreachable('the kubelet does not come up');
      return known;
    });
  }

  /** In this world the instance of a worker has the name of its Node. */
  #isAlive(node: string): boolean {
    if (this.#cluster.silentKubelets.has(node)) return false;
    const { truth, machines } = this.#world;
    const host = truth.get(INSTANCE, idOf(INSTANCE, node))?.doc.host;
    return machines.find(({ name }) => name === host)?.powered !== false;
  }

  /** Silent, until it is ended: whatever happens in this world is found by looking. */
  watch(_what: WatchedKind, _onChange: (change: WatchedChange) => void, { signal }: ClusterCallOptions): Promise<void> {
    const ended = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => ended.reject(abortReason(signal)), { once: true });
    return ended.promise;
  }

  #exchange<T>(
    call: { readonly name: string; readonly changed?: ClusterCall['changed']; readonly onConflict?: () => T },
    { signal }: ClusterCallOptions,
    serve: (memory: SimCluster['memory']) => Promise<T>,
  ): Promise<T> {
    if (signal.aborted) return Promise.reject(abortReason(signal));
    const { path, rng, name: cluster } = this.#cluster;
    const fate = path.draw(rng);
    const { program } = this.#by;
    return program.call('cluster', `${cluster} ${call.name}`, (reply) => {
      const sent = call.changed && this.#note(call.changed, signal);
      if (sent !== undefined) this.#world.onClusterCall(sent);
      if (fate.kind !== 'served') this.#world.fault(program.name, `${call.name} lost ${fate.kind}`);
      signal.addEventListener('abort', () => void reply.fail(0, abortReason(signal)), { once: true });
      const answered = this.#drawError(call, serve);
      switch (fate.kind) {
        case 'served':
          return this.#deliver(call.name, fate.requestMs, () =>
            this.#serve(answered, { sent, reply, replyMs: fate.replyMs }),
          );
        case 'reply-lost':
        case 'repeated':
          timeOut(reply, fate.kind === 'repeated' ? fate.againMs : fate.afterMs);
          return this.#deliver(call.name, fate.requestMs, () => this.#serve(answered, { sent }));
        default:
          return timeOut(reply, fate.afterMs);
      }
    });
  }

  #note(changed: ClusterCall['changed'], signal: AbortSignal): ClusterCall {
    const acting = this.#world.actingOrders.get(signal);
    return { cluster: this.#cluster, by: this.#by, program: this.#by.program, acting, changed };
  }

  /** A status is answered without any effect. What the client of real clusters makes of it is made of it here. */
  #drawError<T>(
    call: { readonly name: string; readonly onConflict?: () => T },
    serve: (memory: SimCluster['memory']) => Promise<T>,
  ): () => Promise<T> {
    const { rng, errorPercent, memory } = this.#cluster;
    if (errorPercent === 0 || !rng.chance(errorPercent / 100)) return () => serve(memory);
    const status = rng.pick([409, 429, 500, 500, 503]);
    this.#world.fault(this.#by.program.name, `${call.name} answered status-${status}`);
    return async () => {
      if (status === 409 && call.onConflict !== undefined) return call.onConflict();
      if (status === 429 || status === 503 || status === 409)
        throw new ClusterUnreachable(`the API answers with status ${status}`);
      throw new ClusterRefused(status, 'InternalError', `status ${status}`);
    };
  }

  /** A call that a dead process had not sent is not there. */
  #deliver(name: string, afterMs: number, serve: () => Promise<void>): void {
    const { program } = this.#by;
    this.#world.scheduler.after(afterMs, `cluster ${this.#cluster.name} gets ${name} of ${program.name}`, () => {
      if (program.alive || this.#cluster.rng.chance(0.5)) void serve();
    });
  }

  async #serve<T>(
    serve: () => Promise<T>,
    {
      sent,
      reply,
      replyMs = 1,
    }: { readonly sent: ClusterCall | undefined; readonly reply?: ReplyHandle<T>; readonly replyMs?: number },
  ): Promise<void> {
    const before = sent && stateOf(this.#cluster);
    try {
      const answer = await serve();
      reply?.answer(replyMs, answer);
    } catch (error) {
      reply?.fail(replyMs, error instanceof Error ? error : new Error(String(error)));
    }
    if (sent === undefined || before === undefined) return;
    this.#noteMarks(sent, before);
    this.#world.onClusterServed(sent, before);
  }

  #noteMarks({ changed }: ClusterCall, { nodes }: ClusterContents): void {
    if (changed.call !== 'markNode') return;
    const after = this.#cluster.memory.objects.nodes.get(changed.node);
    this.#cluster.noteMarks(nodes.get(changed.node), after, 'muster');
  }
}

const TIMED_OUT_MS = 15_000;

/** As the client of real clusters: no call lasts longer. */
function timeOut(reply: ReplyHandle<unknown>, afterMs = TIMED_OUT_MS): void {
  reply.fail(Math.min(afterMs, TIMED_OUT_MS), new ClusterUnreachable('the connection was cut before the answer'));
}

function abortReason({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
