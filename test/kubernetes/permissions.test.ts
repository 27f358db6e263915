// What docs/kubernetes.md has an operator apply is what Muster needs: nothing is said to be missing, and a worker is drained and removed with it.
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../ha/wait-for.ts';
import { newFolder } from '../cli/muster.ts';
import { KubeClient } from './kube-client.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { ManagedCluster } from './managed-cluster.ts';
import { MusterProcess } from './muster-process.ts';
import { kubernetesSuite } from './suite.ts';

const MANIFEST = join(import.meta.dirname, '../../examples/kubernetes/permissions.yaml');
const TOKEN = '/api/v1/namespaces/kube-system/secrets/muster-token';
const run = promisify(execFile);

kubernetesSuite('permissions', ({ kubeconfig, kubectl }) => {
  test('kubernetes-1: those of the example are all that Muster needs', async () => {
    const file = join(newFolder(), 'admin.conf');
    await writeFile(file, kubeconfig);
    await run(kubectl, ['--kubeconfig', file, 'apply', '-f', MANIFEST]);
    onTestFinished(async () => {
      await run(kubectl, ['--kubeconfig', file, 'delete', '-f', MANIFEST, '--wait=false', '--ignore-not-found']);
    });
    const client = KubeClient.of(kubeconfig);
    onTestFinished(() => client.close());
    const token = await waitFor('its token', async () => {
      const secret = (await client.find(TOKEN)) as { readonly data?: { readonly token?: string } } | undefined;
      return secret?.data?.token;
    });
    const registered = kubeconfigOf({
      ...client.access,
      user: { token: Buffer.from(token, 'base64').toString() },
    });
    const server = await MusterProcess.start();
    const cluster = await ManagedCluster.start({
      ...{ server, kubeconfig, registered, nodes: 2, onFinished: (clean) => onTestFinished(clean) },
    });
    const { body } = await server.send('GET', `/clusters/${cluster.name}`);
    expect(body).toMatchObject({ state: 'reachable', missingPermissions: [] });
    const [a = ''] = cluster.nodes.names;
    await cluster.deployOn(a, { name: 'web', replicas: 1 });
    expect(await cluster.untilEnded(await cluster.remove([a]))).toMatchObject({ state: 'succeeded' });
  });
});
