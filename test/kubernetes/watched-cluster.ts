// What happens to the nodes and pods of one test, seen beside Muster, and in what order: by the revisions that the cluster itself gives to every change.
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../ha/wait-for.ts';
import type { KubePod } from './fake-kubelet.ts';
import type { KubeList, KubeObject, KubeWatchEvent } from './kube-client.ts';
import type { ManagedCluster } from './managed-cluster.ts';
import type { KubeNode } from './nodes.ts';
import { isReady, type OnFinished } from './workloads.ts';

type What = 'cordoned' | 'uncordoned' | 'node-deleted' | 'terminating' | 'pod-deleted';

export interface Happening {
  /** One counter for all objects of a cluster. */
  readonly revision: number;
  readonly what: What;
  readonly name: string;
  /** Of a pod: where it was. */
  readonly node?: string;
  /** Of a pod that is being deleted. */
  readonly graceSeconds?: number;
}

/** The nodes of one group, and one namespace. */
type WatchedPlace = Pick<ManagedCluster, 'client' | 'nodes' | 'namespace'>;

export class WatchedCluster {
  readonly #happenings: Happening[] = [];
  readonly #nodes = new Map<string, KubeNode>();
  readonly #pods = new Map<string, KubePod>();
  /** By the workload's name: the fewest pods that were ready at any moment. */
  readonly #fewest = new Map<string, number>();
  #isWhole = false;

  /** From what there is now. */
  static async start(cluster: WatchedPlace, onFinished: OnFinished): Promise<WatchedCluster> {
    const watched = new WatchedCluster();
    const over = new AbortController();
    onFinished(async () => over.abort());
    const [selector] = Object.entries(cluster.nodes.selector).map(([key, value]) => `${key}=${value}`);
    const nodes = `/api/v1/nodes?labelSelector=${encodeURIComponent(selector ?? '')}`;
    const pods = `/api/v1/namespaces/${cluster.namespace}/pods?limit=0`;
    await follow<KubeNode>(cluster, { path: nodes, over: over.signal }, (event) => watched.#seeNode(event));
    await follow<KubePod>(cluster, { path: pods, over: over.signal }, (event) => watched.#seePod(event));
    watched.#isWhole = true;
    watched.#countReady();
    return watched;
  }

  /** In the order in which the cluster made them happen. */
  get happenings(): readonly Happening[] {
    return this.#happenings.toSorted((one, other) => one.revision - other.revision);
  }

  of(...kinds: readonly What[]): readonly Happening[] {
    return this.happenings.filter(({ what }) => kinds.includes(what));
  }

  until(what: string, holds: () => boolean): Promise<unknown> {
    return waitFor(what, async () => holds() || undefined);
  }

  fewestReady(workload: string): number {
    return this.#fewest.get(workload) ?? Number.NaN;
  }

  #seeNode({ type, object }: KubeWatchEvent<KubeNode>): void {
    const { name } = object.metadata;
    const before = this.#nodes.get(name);
    if (type === 'DELETED') {
      this.#nodes.delete(name);
      this.#happenings.push({ ...at(object), what: 'node-deleted' });
      return;
    }
    this.#nodes.set(name, object);
    const [was, is] = [before?.spec.unschedulable === true, object.spec.unschedulable === true];
    if (before !== undefined && was !== is)
      this.#happenings.push({ ...at(object), what: is ? 'cordoned' : 'uncordoned' });
  }

  #seePod({ type, object }: KubeWatchEvent<KubePod>): void {
    const { uid, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds } = object.metadata;
    const before = this.#pods.get(uid);
    const placed = { ...at(object), ...(object.spec.nodeName !== undefined && { node: object.spec.nodeName }) };
    if (deletionTimestamp !== undefined && before?.metadata.deletionTimestamp === undefined)
      this.#happenings.push({ ...placed, what: 'terminating', ...(graceSeconds !== undefined && { graceSeconds }) });
    if (type === 'DELETED') {
      this.#pods.delete(uid);
      this.#happenings.push({ ...placed, what: 'pod-deleted' });
    } else this.#pods.set(uid, object);
    this.#countReady();
  }

  #countReady(): void {
    if (!this.#isWhole) return;
    const ready = Map.groupBy(
      [...this.#pods.values()].filter(isReady),
      ({ metadata }) => metadata.labels?.['app'] ?? '',
    );
    for (const name of new Set([...ready.keys(), ...this.#fewest.keys()])) {
      const count = ready.get(name)?.length ?? 0;
      this.#fewest.set(name, Math.min(count, this.#fewest.get(name) ?? count));
    }
  }
}

function at({ metadata: { name, resourceVersion } }: KubeObject): Pick<Happening, 'name' | 'revision'> {
  return { name, revision: Number(resourceVersion) };
}

interface Followed {
  readonly path: string;
  readonly over: AbortSignal;
}

/** All that is there, and from then on each change, without a gap: a stream that ended is continued from the last one. */
async function follow<Item extends KubeObject>(
  { client }: WatchedPlace,
  { path, over }: Followed,
  see: (event: KubeWatchEvent<Item>) => void,
): Promise<void> {
  const { metadata, items } = await client.get<KubeList<Item>>(path);
  for (const object of items) see({ type: 'ADDED', object });
  let { resourceVersion } = metadata;
  const keepOn = async (): Promise<void> => {
    for await (const event of client.watch<Item>(`${path}&resourceVersion=${resourceVersion}`, over)) {
      ({ resourceVersion } = event.object.metadata);
      see(event);
    }
  };
  void (async () => {
    while (!over.aborted) {
      await keepOn().catch(() => {}); // cut off, or the test has ended
      await sleep(100);
    }
  })();
}
