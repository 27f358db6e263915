// A kubelet without containers: it registers a node, renews its lease, says that the pods bound to it run, and removes deleted ones after they stopped.
// What it would do with a container is a switch, so that a test can have a pod that ignores its end, and a node that dies.
import { setTimeout as sleep } from 'node:timers/promises';
import { type KubeClient, type KubeObject, KubeRefusal } from './kube-client.ts';

/**
 * What containers do when their pod is deleted: end, ignore it until the grace is over and they are killed, or hang so that even that does not help
 * (as with a mount that does not answer).
 */
export type Ending = 'at-once' | 'whole-grace' | 'never';

export interface FakeKubeletOptions {
  readonly client: KubeClient;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly providerId?: string;
}

export interface KubePod extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly { readonly name: string; readonly image: string }[];
  };
  readonly status: {
    readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** A real kubelet renews every 10 s and is missed after 40: here both are shorter. */
const RENEWAL_MS = 2000;
const RETRY_MS = 200;
const PODS_MAX = '110';

export class FakeKubelet {
  readonly name: string;
  ending: Ending = 'at-once';
  readonly #options: FakeKubeletOptions;
  /** By UID: a pod that comes again under its name is another one. */
  readonly #stopping = new Map<string, Promise<void>>();
  /** When each is killed, by UID. It may become earlier, never later. */
  readonly #killAtMs = new Map<string, number>();
  #life: AbortController | undefined;
  #work: Promise<unknown> = Promise.resolve();

  constructor(options: FakeKubeletOptions) {
    this.#options = options;
    this.name = options.name;
  }

  /** Registers its node, or says that it is ready again; a node that was deleted meanwhile comes back only by this. */
  async start(): Promise<void> {
    const life = new AbortController();
    this.#life = life;
    await this.#register();
    await this.#renewLease();
    this.#work = Promise.all([this.#keepLease(life.signal), this.#keepPods(life.signal)]);
  }

  /** As when the machine dies: the API is not notified, the node and its pods stay in it as they are. */
  async die(): Promise<void> {
    this.#life?.abort();
    await this.#work;
    await Promise.all(this.#stopping.values());
  }

  async #register(): Promise<void> {
    const { client, labels, providerId } = this.#options;
    const node = {
      metadata: {
        name: this.name,
        labels: { 'kubernetes.io/hostname': this.name, 'kubernetes.io/os': 'linux', ...labels },
      },
      ...(providerId !== undefined && { spec: { providerID: providerId } }),
    };
    const answer = await client.send('POST', '/api/v1/nodes', node);
    if (answer.status !== 201 && answer.status !== 409) throw new KubeRefusal('POST /api/v1/nodes', answer);
    await client.patch(`/api/v1/nodes/${this.name}/status`, { status: readyStatus() });
  }

  async #keepLease(dead: AbortSignal): Promise<void> {
    while (await passes(RENEWAL_MS, dead)) await this.#renewLease().catch(() => {}); // an API that is away is tried again
  }

  async #renewLease(): Promise<void> {
    const { client } = this.#options;
    const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
    // Its clock has microseconds.
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: this.name, leaseDurationSeconds: 40, renewTime };
    const answer = await client.send('GET', `${leases}/${this.name}`);
    if (answer.status === 404) await client.create(leases, { metadata: { name: this.name }, spec });
    else await client.patch(`${leases}/${this.name}`, { spec }, 'merge');
  }

  /** A stream that ended is begun anew, from all pods: nothing is missed. */
  async #keepPods(dead: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const path = `/api/v1/pods?fieldSelector=${encodeURIComponent(`spec.nodeName=${this.name}`)}`;
    do {
      try {
        for await (const { type, object } of client.watch<KubePod>(path, dead)) {
          if (type === 'ADDED' || type === 'MODIFIED') this.#keepPod(object, dead);
        }
      } catch {
        // Cut off, refused, or dead: the loop looks.
      }
    } while (await passes(RETRY_MS, dead));
  }

  #keepPod(pod: KubePod, dead: AbortSignal): void {
    const { uid, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp === undefined) {
      if (pod.status.phase === 'Pending') void this.#untilDone(dead, () => this.#run(pod));
      return;
    }
    const killAtMs = performance.now() + (pod.metadata.deletionGracePeriodSeconds ?? 0) * 1000;
    this.#killAtMs.set(uid, Math.min(killAtMs, this.#killAtMs.get(uid) ?? killAtMs));
    if (this.#stopping.has(uid)) return;
    this.#stopping.set(
      uid,
      this.#endPod(pod, dead).finally(() => this.#stopping.delete(uid)),
    );
  }

  async #run(pod: KubePod): Promise<void> {
    const now = new Date().toISOString();
    const conditions = ['Initialized', 'ContainersReady', 'Ready'];
    await this.#options.client.patch(`${pathOf(pod)}/status`, {
      // Another pod may have come under this name.
      metadata: { uid: pod.metadata.uid },
      status: {
        phase: 'Running',
        startTime: now,
        hostIP: '127.0.0.1',
        podIP: '127.0.0.1',
        conditions: conditions.map((type) => ({ type, status: 'True', lastTransitionTime: now })),
        containerStatuses: pod.spec.containers.map(({ name, image }) => ({
          name,
          image,
          imageID: image,
          ready: true,
          started: true,
          restartCount: 0,
          state: { running: { startedAt: now } },
        })),
      },
    });
  }

  async #endPod(pod: KubePod, dead: AbortSignal): Promise<void> {
    if (this.ending === 'never') return;
    const { uid } = pod.metadata;
    const isAlive = (): boolean => performance.now() < (this.#killAtMs.get(uid) ?? 0);
    while (this.ending === 'whole-grace' && isAlive() && !dead.aborted) await passes(RETRY_MS, dead);
    const preconditions = { uid };
    await this.#untilDone(dead, async () => {
      await this.#options.client.delete(pathOf(pod), { gracePeriodSeconds: 0, preconditions });
    });
  }

  /** What the API refuses is over: the pod is gone, or has become another. An API that does not answer is tried again. */
  async #untilDone(dead: AbortSignal, work: () => Promise<void>): Promise<void> {
    while (!dead.aborted) {
      try {
        await work();
        return;
      } catch (error) {
        if (error instanceof KubeRefusal && error.status < 500 && error.status !== 429) return;
      }
      await passes(RETRY_MS, dead);
    }
  }
}

function pathOf({ metadata: { namespace = '', name } }: KubePod): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}

/** False when it died meanwhile. */
async function passes(ms: number, dead: AbortSignal): Promise<boolean> {
  await sleep(ms, undefined, { signal: dead }).catch(() => {}); // aborted
  return !dead.aborted;
}

function readyStatus(): object {
  const now = new Date().toISOString();
  const capacity = { cpu: '64', memory: '256Gi', 'ephemeral-storage': '100Gi', pods: PODS_MAX };
  return {
    capacity,
    allocatable: capacity,
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    conditions: [
      { type: 'MemoryPressure', status: 'False' },
      { type: 'DiskPressure', status: 'False' },
      { type: 'PIDPressure', status: 'False' },
      { type: 'Ready', status: 'True', reason: 'KubeletReady' },
    ].map((condition) => ({ ...condition, lastHeartbeatTime: now, lastTransitionTime: now })),
    nodeInfo: {
      kubeletVersion: 'v1.20.2',
      kubeProxyVersion: 'v1.20.2',
      operatingSystem: 'linux',
      architecture: 'amd64',
      containerRuntimeVersion: 'fake://1',
      kernelVersion: 'fake',
      osImage: 'fake',
      machineID: '',
      systemUUID: '',
      bootID: '',
    },
  };
}
