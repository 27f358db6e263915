// A real server, a real control plane, and a real worker: kubeadm, kubelet and containerd on a machine in namespaces, which Muster reaches over SSH. It joins, runs pods, is
// drained and removed, is wiped, and joins again.
import { afterAll, describe, expect, test } from 'vitest';
import { waitFor } from '../ha/wait-for.ts';
import { ensureKubernetes, ensureWorkerPrograms } from '../kubernetes/install.ts';
import { ensureSshd } from '../kubernetes/install-sshd.ts';
import { KubeClient } from '../kubernetes/kube-client.ts';
import type { KubePod } from '../kubernetes/fake-kubelet.ts';
import { MusterProcess } from '../kubernetes/muster-process.ts';
import { getNode, readinessOf } from '../kubernetes/nodes.ts';
import { startPlane, type Plane } from '../kubernetes/plane.ts';
import { createKubeadmDocuments } from './kubeadm-documents.ts';
import { RealMachine } from './real-machine.ts';
import { ensureTools, whyNoMachine } from './tools.ts';

interface World {
  readonly client: KubeClient;
  readonly server: MusterProcess;
  readonly machine: RealMachine;
}

const cleaning: (() => Promise<void> | void)[] = [];
afterAll(async () => {
  for (const clean of cleaning.toReversed()) await clean();
});

/** A reason where there can be none. */
async function startWorld(): Promise<World | string> {
  const found = await ensureSshd();
  if (found.kind === 'missing') return `sshd is missing: ${found.reason}`;
  const lack = await whyNoMachine();
  if (lack !== undefined) return lack;
  const [servers, programs] = [await ensureKubernetes(), await ensureWorkerPrograms()];
  if (servers.kind === 'missing') return servers.reason;
  if (programs.kind === 'missing') return programs.reason;
  const plane = await startPlane({ binDir: servers.binDir });
  cleaning.push(() => plane.stop());
  const client = KubeClient.of(plane.adminKubeconfig);
  cleaning.push(() => client.close());
  await createKubeadmDocuments(client, plane.endpoint);
  const apiPort = Number(new URL(plane.endpoint).port);
  const machine = await RealMachine.start({ kube: programs.binDir, tools: await ensureTools(), apiPort });
  cleaning.push(() => machine.stop());
  const server = await startServer(plane, machine);
  return { client, server, machine };
}

async function startServer({ adminKubeconfig }: Plane, machine: RealMachine): Promise<MusterProcess> {
  const server = await MusterProcess.start('--demo', '3');
  await server.untilHostsJoined();
  await server.mustSend('POST', '/flavors', { name: 'worker', vcpus: 1, memoryMiB: 256, diskGiB: 1 });
  await server.mustSend('POST', '/clusters', { name: 'deep', kubeconfig: adminKubeconfig });
  const { port, privateKey, hostKey } = machine;
  const ssh = { user: 'root', port, address: '127.0.0.1', key: privateKey, hostKeys: 'pinned', knownHosts: [hostKey] };
  await server.mustSend('PATCH', '/clusters/deep', { ssh });
  await waitFor('what the cluster says of itself', async () => {
    const seen = await server.mustSend<{ state: string; caPin?: string }>('GET', '/clusters/deep');
    return (seen.state === 'reachable' && seen.caPin !== undefined) || undefined;
  });
  return server;
}

async function untilEnded(server: MusterProcess, operation: string): Promise<string> {
  const ended = await waitFor(`the end of ${operation}`, async () => {
    const { state } = await server.mustSend<{ state: string }>('GET', `/operations/${operation}`);
    return ['succeeded', 'failed', 'cancelled'].includes(state) ? state : undefined;
  });
  if (ended === 'succeeded') return ended;
  return JSON.stringify((await server.send('GET', `/operations/${operation}/items`)).body);
}

async function join({ server, client, machine }: World): Promise<string> {
  const explain = async (worker: string): Promise<string[]> => [
    JSON.stringify((await server.send('GET', `/workers/deep.${worker}/log`)).body, undefined, 1).replaceAll(
      '\\n',
      '\n',
    ),
    ...(await Promise.all(['kubelet', 'containerd'].map((program) => machine.log(program)))),
  ];
  const body = { flavor: 'worker', networks: 'none' };
  const { operation, workers } = await server.mustSend<{ operation: string; workers: string[] }>(
    'POST',
    '/clusters/deep/workers/add',
    body,
  );
  const node = (workers[0] ?? '').slice('deep.'.length);
  const outcome = await untilEnded(server, operation);
  if (outcome !== 'succeeded') expect.fail([outcome, ...(await explain(node))].join('\n'));
  const seen = await getNode(client, node);
  expect([readinessOf(seen), seen.spec.providerID]).toEqual(['True', `muster:///deep/${node}`]);
  return node;
}

async function work({ server }: World, verb: 'drain' | 'remove', node: string): Promise<void> {
  const path = `/clusters/deep/workers/${verb}`;
  const { operation } = await server.mustSend<{ operation: string }>('POST', path, { workers: [node] });
  expect(await untilEnded(server, operation)).toBe('succeeded');
}

async function deploy(client: KubeClient, replicas: number): Promise<void> {
  const labels = { app: 'web' };
  const container = { name: 'web', image: 'muster.test/web:1', imagePullPolicy: 'Never' };
  const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 2, containers: [container] } };
  await client.create('/apis/apps/v1/namespaces/default/deployments', {
    metadata: { name: 'web', namespace: 'default' },
    spec: { replicas, selector: { matchLabels: labels }, template },
  });
}

function untilRunning(client: KubeClient, node: string, count: number): Promise<unknown> {
  return waitFor(`${count} pods that run on ${node}`, async () => {
    const pods = await client.list<KubePod>(`/api/v1/pods?fieldSelector=spec.nodeName=${node}`);
    const ready = pods.filter(({ status }) =>
      status.conditions?.some((one) => one.type === 'Ready' && one.status === 'True'),
    );
    return ready.length >= count || undefined;
  });
}

const world = await startWorld();

describe('a real worker', () => {
  if (typeof world === 'string') {
    const title = `needs a machine in namespaces: ${world}`;
    if (process.env['CI'] === 'true') test(title, () => expect.fail(title));
    else test.skip(title);
    return;
  }

  test('joins by kubeadm over SSH, runs pods, is drained and removed, is wiped, and joins again', async () => {
    const { client, machine } = world;
    const first = await join(world);
    await deploy(client, 3);
    await untilRunning(client, first, 3);
    await work(world, 'drain', first);
    expect(await client.list(`/api/v1/pods?fieldSelector=spec.nodeName=${first}`)).toEqual([]);
    await work(world, 'remove', first);
    expect(await client.find(`/api/v1/nodes/${first}`)).toBeUndefined();
    await machine.wipe();
    const second = await join(world);
    expect(second).not.toBe(first);
    await untilRunning(client, second, 3);
  });
});
