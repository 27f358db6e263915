// `workers add` beside what it consists of: the same instances built by a request for instances, then a bootstrap token, the same script over SSH, and looks at each
// Node until it is Ready, in plain calls, as many at a time. In turns, on the same control plane, the same server and the same machines.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { SecretMask } from '../../src/access/index.ts';
import { SshReach } from '../../src/kubernetes/runtime.ts';
import { realClock } from '../../src/main/clock.ts';
import { ensureSshd } from '../../test/kubernetes/install-sshd.ts';
import { createBootstrapToken, hashOfAuthority, revokeBootstrapToken } from '../../test/kubernetes/joins.ts';
import { readinessOf, type KubeNode } from '../../test/kubernetes/nodes.ts';
import { WorkerHosts } from '../../test/kubernetes/worker-hosts.ts';
import { below, type Benchmark, type Figure, type Skipped } from '../benchmark.ts';
import { runPaired } from '../rounds.ts';
import type { BenchScope } from '../scope.ts';
import { startBenchPlane, startBenchServer, type BenchPlane, type BenchServer } from './twins.ts';

const RATIO_MAX = 1.1;
const OWN_STEP_MS_MAX = 100;
/** From the instance to the look at the Node: those of `worker-add`, one after the other. */
const STEPS = 8;
/** As many as one request for workers has join at a time. */
const AT_ONCE = 10;
/** How often the progress of both sides is read. */
const LOOK_MS = 25;
const FLAVOR = 'worker';
/** Each is to have room for all workers of all rounds. */
const HOSTS = 3;

interface JoinCase {
  readonly count: number;
  readonly rounds: number;
  readonly seconds: number;
}

const CASES: readonly JoinCase[] = [
  { count: 1, rounds: 5, seconds: 35 },
  { count: 20, rounds: 1, seconds: 60 },
];

export const joinBenchmarks: readonly Benchmark[] = CASES.map((one) => ({
  name: `kubernetes-join-${one.count}`,
  about: `workers add of ${one.count} over SSH until in service, beside the bare calls: instances, token, script, looks at the Node`,
  seconds: one.seconds,
  run: (scope) => measure(scope, one),
}));

async function measure(scope: BenchScope, { count, rounds }: JoinCase): Promise<readonly Figure[] | Skipped> {
  const sshd = await ensureSshd();
  if (sshd.kind === 'missing') return { skipped: `sshd is missing: ${sshd.reason}` };
  const plane = await startBenchPlane(scope);
  if ('skipped' in plane) return plane;
  const place = await JoinPlace.start(scope, plane);
  const result = await runPaired(scope, rounds, async () => {
    const ours = await place.measure(() => place.addWorkers(count));
    return [ours, await place.measure(() => place.joinBare(count))];
  });
  const ownStepMs = Math.max(0, result.ours - result.peers) / STEPS;
  const name = `kubernetes-join-${count}`;
  const peer = `bare calls: ${(result.peers / 1000).toFixed(2)} s`;
  const limit = `limit: ${OWN_STEP_MS_MAX} ms; ${STEPS} steps`;
  return [
    { name, value: result.ours / 1000, unit: 's', peer, ...below(RATIO_MAX, result.ratio) },
    { name: `${name}-own-step`, value: ownStepMs, unit: 'ms', peer: limit, ...below(1, ownStepMs / OWN_STEP_MS_MAX) },
  ];
}

/** A server with a cluster that machines join, and hosts to build these on. */
class JoinPlace {
  readonly #plane: BenchPlane;
  readonly #server: BenchServer;
  readonly #hosts: WorkerHosts;

  private constructor(plane: BenchPlane, server: BenchServer, hosts: WorkerHosts) {
    this.#plane = plane;
    this.#server = server;
    this.#hosts = hosts;
  }

  static async start(scope: BenchScope, plane: BenchPlane): Promise<JoinPlace> {
    const hosts = await WorkerHosts.start((clean) => scope.onClose(clean));
    const server = await startBenchServer(scope, plane, { hosts: HOSTS });
    const { port, sshd, script } = hosts;
    const ssh = { user: sshd.user, port, address: '127.0.0.1', key: sshd.privateKey, hostKeys: 'pinned' };
    const settings = { ssh: { ...ssh, knownHosts: [sshd.hostKey] }, workerScript: script };
    await server.send('PATCH', '/clusters/bench', settings);
    await server.send('POST', '/flavors', { name: FLAVOR, vcpus: 1, memoryMiB: 256, diskGiB: 1 });
    await until('what the cluster says of itself', async () => {
      const seen = await server.send<{ state: string; caPin?: string }>('GET', '/clusters/bench');
      return seen.state === 'reachable' && seen.caPin !== undefined;
    });
    await until('the hosts', async () => {
      const { items } = await server.send<{ items: { state: string }[] }>('GET', '/operations?kind=host-join');
      return items.length > 0 && items.every(({ state }) => state === 'succeeded');
    });
    return new JoinPlace(plane, server, hosts);
  }

  /** Milliseconds. The machines are switched off afterwards, and their Nodes removed. */
  async measure(join: () => Promise<readonly string[]>): Promise<number> {
    const beganMs = performance.now();
    const nodes = await join();
    const tookMs = performance.now() - beganMs;
    this.#hosts.endKubelets();
    await Promise.all(nodes.map((node) => this.#plane.client.delete(`/api/v1/nodes/${node}`)));
    return tookMs;
  }

  /** As `muster workers add` does. */
  async addWorkers(count: number): Promise<readonly string[]> {
    const body = { count, flavor: FLAVOR, networks: 'none' };
    const { operation, workers } = await this.#server.send<{ operation: string; workers: string[] }>(
      'POST',
      '/clusters/bench/workers/add',
      body,
    );
    await this.#untilSucceeded(operation);
    return workers.map((worker) => worker.slice('bench.'.length));
  }

  async joinBare(count: number): Promise<readonly string[]> {
    const { client } = this.#plane;
    const name = `bare-${randomBytes(3).toString('hex')}`;
    const built = { name, count, flavor: FLAVOR, networks: 'none' };
    const { operation, instances } = await this.#server.send<{ operation: string; instances: string[] }>(
      'POST',
      '/instances',
      built,
    );
    await this.#untilSucceeded(operation);
    const token = await createBootstrapToken(client);
    const waiting = [...instances];
    const join = async (): Promise<void> => {
      for (let node = waiting.shift(); node !== undefined; node = waiting.shift())
        await this.#joinOne(node, `${token.id}.${token.secret}`);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, join));
    await revokeBootstrapToken(client, token);
    return instances;
  }

  async #joinOne(node: string, token: string): Promise<void> {
    const { client } = this.#plane;
    const { sshd, port, script } = this.#hosts;
    const trust = { kind: 'pinned', knownHosts: [sshd.hostKey] } as const;
    const address = { kind: 'ssh', host: '127.0.0.1', port, user: sshd.user, trust } as const;
    const credentials = { kind: 'key', key: sshd.privateKey } as const;
    const reach = new SshReach({ address, credentials, script, mask: new SecretMask() }, realClock);
    const { endpoint, ca = '' } = client.access;
    const providerId = `muster:///bench/${node}`;
    const about = { cluster: 'bench', node, providerId, version: 'v1.20.2' };
    const call = { ...about, endpoint: new URL(endpoint).host, caPin: hashOfAuthority(ca), token };
    const answer = await reach.join(call, { signal: new AbortController().signal });
    if (answer.kind !== 'ended' || answer.exitCode !== 0) throw new Error(`${node}: ${JSON.stringify(answer)}`);
    await until(`${node} to be Ready`, async () => {
      const seen = await client.find<KubeNode>(`/api/v1/nodes/${node}`);
      return seen !== undefined && readinessOf(seen) === 'True' && seen.spec.providerID === providerId;
    });
  }

  #untilSucceeded(operation: string): Promise<void> {
    return until(`the end of ${operation}`, async () => {
      const { state, reason } = await this.#server.send<{ state: string; reason?: object }>(
        'GET',
        `/operations/${operation}`,
      );
      if (state === 'failed' || state === 'cancelled')
        throw new Error(`${operation} ${state}: ${JSON.stringify(reason)}`);
      return state === 'succeeded';
    });
  }
}

const PATIENCE_MS = 60_000;

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const lateMs = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > lateMs) throw new Error(`waited in vain for ${what}`);
    await sleep(LOOK_MS);
  }
}
