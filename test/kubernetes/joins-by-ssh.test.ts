// A real server adds workers to a real cluster over a real sshd: the script that comes with Muster, the real discovery and TLS bootstrap of a join, and kubelets without
// containers. What a script prints proves nothing here, and no secret is where it could be read.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { describe, expect, test, type TestContext } from 'vitest';
import { waitFor } from '../ha/wait-for.ts';
import { ensureSshd } from './install-sshd.ts';
import { KubeClient, type KubeObject } from './kube-client.ts';
import type { ItemSeen, OperationSeen, WorkerSeen } from './managed-cluster.ts';
import { MusterProcess } from './muster-process.ts';
import { getNode, readinessOf } from './nodes.ts';
import { kubernetesSuite } from './suite.ts';
import { isAlive, WorkerHosts } from './worker-hosts.ts';

const sshd = await ensureSshd();
const ENDED = ['succeeded', 'failed', 'cancelled'];
const FLAVOR = 'worker';

interface ClusterSeen {
  readonly state: string;
  readonly caPin?: string;
}

interface SecretSeen extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface Accepted {
  readonly operation: string;
  readonly workers: readonly string[];
}

interface Added {
  readonly operation: string;
  readonly nodes: readonly string[];
}

type Trust = { readonly hostKeys: 'first-use' } | { readonly hostKeys: 'pinned'; readonly knownHosts: string[] };

/** A cluster that a server has registered, and the machines that join it. */
class JoinableCluster {
  readonly name: string;
  readonly client: KubeClient;
  readonly hosts: WorkerHosts;
  readonly server: MusterProcess;

  private constructor(parts: Pick<JoinableCluster, 'name' | 'client' | 'hosts' | 'server'>) {
    this.name = parts.name;
    this.client = parts.client;
    this.hosts = parts.hosts;
    this.server = parts.server;
  }

  static async start(
    { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
    { server, kubeconfig, trust }: { server: MusterProcess; kubeconfig: string; trust?: Trust },
  ): Promise<JoinableCluster> {
    const hosts = await WorkerHosts.start(onTestFinished);
    const client = KubeClient.of(kubeconfig);
    const name = `s-${randomBytes(3).toString('hex')}`;
    const cluster = new JoinableCluster({ name, client, hosts, server });
    onTestFinished(async () => {
      for (const { metadata } of await client.list('/api/v1/nodes'))
        if (metadata.name.startsWith(`${name}-`)) await client.delete(`/api/v1/nodes/${metadata.name}`);
      client.close();
    });
    await server.mustSend('POST', '/clusters', { name, kubeconfig });
    const { port, sshd: machine, script } = hosts;
    const known = trust ?? { hostKeys: 'pinned', knownHosts: [machine.hostKey] };
    const ssh = { user: machine.user, port, address: '127.0.0.1', key: machine.privateKey, ...known };
    await server.mustSend('PATCH', `/clusters/${name}`, { ssh, workerScript: script });
    await waitFor('what the cluster says of itself', async () => {
      const seen = await server.mustSend<ClusterSeen>('GET', `/clusters/${name}`);
      return (seen.state === 'reachable' && seen.caPin !== undefined) || undefined;
    });
    return cluster;
  }

  async add(count: number, more: object = {}): Promise<Added> {
    const body = { count, flavor: FLAVOR, networks: 'none', ...more };
    const path = `/clusters/${this.name}/workers/add`;
    const { operation, workers } = await this.server.mustSend<Accepted>('POST', path, body);
    return { operation, nodes: workers.map((id) => id.slice(this.name.length + 1)) };
  }

  async remove(node: string, more: object): Promise<string> {
    const path = `/clusters/${this.name}/workers/remove`;
    return (await this.server.mustSend<Accepted>('POST', path, { workers: [node], ...more })).operation;
  }

  async command(operation: string, verb: 'cancel' | 'retry'): Promise<void> {
    await this.server.mustSend('POST', `/operations/${operation}/${verb}`, {});
  }

  untilEnded(operation: string): Promise<OperationSeen> {
    return waitFor(`the end of ${operation}`, async () => {
      const seen = await this.server.mustSend<OperationSeen>('GET', `/operations/${operation}`);
      return ENDED.includes(seen.state) ? seen : undefined;
    });
  }

  async item(operation: string, node: string): Promise<ItemSeen> {
    const { items } = await this.server.mustSend<{ items: ItemSeen[] }>('GET', `/operations/${operation}/items`);
    const item = items.find(({ target }) => target.id === `${this.name}.${node}`);
    if (item === undefined) throw new Error(`${operation} is not about ${node}`);
    return item;
  }

  async worker(node: string): Promise<(WorkerSeen & { readonly machineKey?: { fingerprint: string } }) | undefined> {
    const { status, body } = await this.server.send('GET', `/workers/${this.name}.${node}`);
    return status === 404 ? undefined : (body as unknown as WorkerSeen);
  }

  async hasInstance(name: string): Promise<boolean> {
    return (await this.server.send('GET', `/instances/${name}`)).status === 200;
  }

  async hasNode(node: string): Promise<boolean> {
    return (await this.client.find(`/api/v1/nodes/${node}`)) !== undefined;
  }

  /** Bootstrap tokens that the cluster has for this operation. */
  async tokenSecrets(operation: string): Promise<readonly string[]> {
    const secrets = await this.client.list<SecretSeen>('/api/v1/namespaces/kube-system/secrets');
    return secrets
      .filter(({ metadata }) => metadata.name.startsWith('bootstrap-token-'))
      .filter(({ data }) => decode(data?.['description']).includes(operation))
      .map(({ metadata }) => metadata.name);
  }

  async log(node: string): Promise<string> {
    return JSON.stringify((await this.server.send('GET', `/workers/${this.name}.${node}/log`)).body);
  }
}

function decode(text = ''): string {
  return Buffer.from(text, 'base64').toString();
}

kubernetesSuite('joins over SSH', ({ kubeconfig }) => {
  let shared: Promise<MusterProcess> | undefined;
  const startServer = async (): Promise<MusterProcess> => {
    const server = await MusterProcess.start('--demo', '3');
    await server.untilHostsJoined();
    await server.mustSend('POST', '/flavors', { name: FLAVOR, vcpus: 1, memoryMiB: 256, diskGiB: 1 });
    return server;
  };
  const start = async (context: TestContext, facts: { own?: true; trust?: Trust } = {}): Promise<JoinableCluster> => {
    if (sshd.kind === 'missing') {
      if (process.env['CI'] === 'true') expect.fail(`sshd is missing: ${sshd.reason}`);
      context.skip(`needs sshd: ${sshd.reason}`);
    }
    shared ??= startServer();
    const server = facts.own === true ? await startServer() : await shared;
    return JoinableCluster.start(context, { ...facts, server, kubeconfig });
  };

  describe.concurrent('a worker', () => {
    test('joins-and-is-in-service when its Node is Ready, and no secret is left anywhere', async (context) => {
      const cluster = await start(context, { own: true });
      const { operation, nodes } = await cluster.add(2);
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      for (const node of nodes) {
        const seen = await getNode(cluster.client, node);
        expect([readinessOf(seen), seen.spec.providerID]).toEqual(['True', `muster:///${cluster.name}/${node}`]);
        expect(await cluster.worker(node)).toMatchObject({ state: 'in-service', readiness: 'ready' });
        expect(await cluster.log(node)).toContain(`This machine has joined as ${node}`);
      }
      await waitFor(
        'the end of its token',
        async () => (await cluster.tokenSecrets(operation)).length === 0 || undefined,
      );
      const secrets = [...cluster.hosts.tokens(nodes), ...keyLines(cluster.hosts.sshd.privateKey)];
      expect(secrets.length).toBeGreaterThan(2);
      const { server, hosts, name } = cluster;
      const paths = [
        ...[`/clusters/${name}`, '/clusters', '/workers', '/history', `/operations/${operation}`],
        ...[`/operations/${operation}/items`, ...nodes.map((node) => `/workers/${name}.${node}/log`)],
      ];
      const answers = await Promise.all(
        paths.map(async (path) => JSON.stringify((await server.send('GET', path)).body)),
      );
      const seen = [...answers, server.log, ...nodes.flatMap((node) => hosts.calls(node))].join('\n');
      for (const secret of secrets) {
        expect(seen.includes(secret)).toBe(false);
        // Also not in the write-ahead log.
        expect(execFileSync('sh', ['-c', 'grep -rlaF -e "$0" "$1" || true', secret, server.data]).toString()).toBe('');
      }
    });

    test('kubernetes-37: leaves-its-cluster and keeps its instance: its kubelet is stopped, and nothing of the cluster is left on it', async (context) => {
      const cluster = await start(context);
      const { operation, nodes } = await cluster.add(1);
      const [node = ''] = nodes;
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      const kubelet = cluster.hosts.kubelet(node);
      expect(isAlive(kubelet)).toBe(true);
      const removal = await cluster.remove(node, { keepInstances: true });
      expect(await cluster.untilEnded(removal)).toMatchObject({ state: 'succeeded' });
      await waitFor('the end of its kubelet', async () => !isAlive(kubelet) || undefined);
      expect(cluster.hosts.passes(node).map((line) => line.split(' ')[0])).toEqual(['install', 'join', 'leave']);
      expect(cluster.hosts.hasJoined(node)).toBe(false);
      expect([await cluster.worker(node), await cluster.hasNode(node)]).toEqual([undefined, false]);
      expect(await cluster.hasInstance(node)).toBe(true);
    });

    test('is-never-joined-by-what-a-script-says: its Node is waited for, and named when the time is over', async (context) => {
      const cluster = await start(context);
      const { operation, nodes } = await cluster.add(1, { joinDeadlineMs: 15_000 });
      const [node = ''] = nodes;
      cluster.hosts.arm(node, 'pretends');
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'failed' });
      expect(await cluster.item(operation, node)).toMatchObject({
        reason: { code: 'join-timed-out', waitedFor: 'node-awaited', readiness: 'missing', node },
      });
      expect(await cluster.log(node)).toContain('This node has joined the cluster');
      expect(await cluster.worker(node)).toMatchObject({ state: 'joining' });
      cluster.hosts.disarm(node, 'pretends');
      await cluster.command(operation, 'retry');
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
    });

    test('that-fails-is-retried-alone: one that is Ready is not touched, and no instance is built again', async (context) => {
      const cluster = await start(context);
      const { operation, nodes } = await cluster.add(2);
      const [sick = '', well = ''] = nodes;
      cluster.hosts.arm(sick, 'fails');
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'failed' });
      expect(await cluster.item(operation, sick)).toMatchObject({
        reason: { code: 'script-failed', exitCode: 1, text: expect.stringContaining('this machine fails') as string },
      });
      expect(await cluster.worker(well)).toMatchObject({ state: 'in-service' });
      const [passes, { metadata }] = [cluster.hosts.passes(well), await getNode(cluster.client, well)];
      cluster.hosts.disarm(sick, 'fails');
      await cluster.command(operation, 'retry');
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      expect(await cluster.worker(sick)).toMatchObject({ state: 'in-service' });
      expect(cluster.hosts.passes(well)).toEqual(passes);
      expect((await getNode(cluster.client, well)).metadata.uid).toBe(metadata.uid);
    });

    test('whose-token-expires-does-not-join; a retry makes it again', async (context) => {
      const cluster = await start(context);
      const { operation, nodes } = await cluster.add(1);
      const [node = ''] = nodes;
      cluster.hosts.arm(node, 'hangs');
      await cluster.hosts.untilHanging(node);
      const [secret = ''] = await cluster.tokenSecrets(operation);
      const path = `/api/v1/namespaces/kube-system/secrets/${secret}`;
      await cluster.client.patch(path, { stringData: { expiration: new Date(Date.now() - 60_000).toISOString() } });
      await waitFor(
        'the cluster to forget it',
        async () => (await cluster.client.find(path)) === undefined || undefined,
      );
      cluster.hosts.disarm(node, 'hangs');
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'failed' });
      expect(await cluster.item(operation, node)).toMatchObject({ reason: { code: 'script-failed' } });
      expect(await cluster.hasNode(node)).toBe(false);
      await cluster.command(operation, 'retry');
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      expect(await cluster.worker(node)).toMatchObject({ state: 'in-service' });
    });

    test('of-a-server-that-is-killed-amid-the-join: its script ends with it, and the join goes on once', async (context) => {
      const cluster = await start(context, { own: true });
      const { operation, nodes } = await cluster.add(1);
      const [node = ''] = nodes;
      cluster.hosts.arm(node, 'hangs');
      const pid = await cluster.hosts.untilHanging(node);
      await cluster.server.kill();
      await waitFor('the end of its script', async () => !isAlive(pid) || undefined);
      expect(await cluster.hasNode(node)).toBe(false);
      cluster.hosts.disarm(node, 'hangs');
      await cluster.server.restart();
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      expect(await cluster.worker(node)).toMatchObject({ state: 'in-service' });
      expect(cluster.hosts.calls(node).filter((call) => call.startsWith('join'))).toHaveLength(2);
      expect(await cluster.hasInstance(node)).toBe(true);
    });

    test('whose-join-is-cancelled-ends: its script is killed, and it goes with its instance', async (context) => {
      const cluster = await start(context);
      const { operation, nodes } = await cluster.add(1);
      const [node = ''] = nodes;
      cluster.hosts.arm(node, 'hangs');
      const pid = await cluster.hosts.untilHanging(node);
      await cluster.command(operation, 'cancel');
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'cancelled' });
      expect(isAlive(pid)).toBe(false);
      cluster.hosts.disarm(node, 'hangs');
      await waitFor('its removal', async () => (await cluster.worker(node)) === undefined || undefined);
      await waitFor('the end of its instance', async () => !(await cluster.hasInstance(node)) || undefined);
      expect(await cluster.hasNode(node)).toBe(false);
      expect(cluster.hosts.joins(node)).toBe(1);
    });

    test('whose-machine-shows-another-host-key-later is refused, and nothing is sent there', async (context) => {
      const cluster = await start(context, { trust: { hostKeys: 'first-use' } });
      const { operation, nodes } = await cluster.add(1);
      const [node = ''] = nodes;
      cluster.hosts.arm(node, 'fails');
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'failed' });
      const remembered = (await cluster.worker(node))?.machineKey?.fingerprint;
      expect(remembered).toMatch(/^SHA256:/);
      await cluster.hosts.replace(context.onTestFinished);
      cluster.hosts.disarm(node, 'fails');
      const passes = cluster.hosts.passes(node);
      await cluster.command(operation, 'retry');
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'failed' });
      const { reason } = await cluster.item(operation, node);
      expect(reason).toMatchObject({ code: 'wrong-host-key', expected: remembered });
      expect(reason?.['found']).toMatch(/^SHA256:/);
      expect(reason?.['found']).not.toBe(remembered);
      expect(cluster.hosts.passes(node)).toEqual(passes);
      cluster.hosts.restore();
      await cluster.command(operation, 'retry');
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
    });

    test('joins-by-the-script-that-comes-with-Muster, where the cluster has none', async (context) => {
      const cluster = await start(context);
      await cluster.server.mustSend('PATCH', `/clusters/${cluster.name}`, { workerScript: null });
      const { operation, nodes } = await cluster.add(1);
      const [node = ''] = nodes;
      expect(await cluster.untilEnded(operation)).toMatchObject({ state: 'succeeded' });
      expect(readinessOf(await getNode(cluster.client, node))).toBe('True');
      expect(cluster.hosts.calls('only')).toEqual(expect.arrayContaining([expect.stringMatching(/^join --config /)]));
    });
  });
});

function keyLines(key: string): string[] {
  return key.split('\n').filter((line) => line.length > 20 && !line.startsWith('-----'));
}
