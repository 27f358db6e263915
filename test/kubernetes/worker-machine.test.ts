// A machine that is reached by SSH becomes a node: a real sshd, the real discovery and TLS bootstrap of `kubeadm join`, a kubelet without containers.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { ensureSshd } from './install-sshd.ts';
import { createBootstrapToken, hashOfAuthority } from './joins.ts';
import { KubeClient } from './kube-client.ts';
import { readKubeconfig } from './kubeconfig.ts';
import { readinessOf, untilNodeIs } from './nodes.ts';
import { type Sshd, startSshd } from './sshd.ts';
import { kubernetesSuite } from './suite.ts';

const found = await ensureSshd();

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

kubernetesSuite('worker machines', (kubernetes) => {
  const client = KubeClient.of(kubernetes.kubeconfig);
  const { endpoint, ca = '' } = readKubeconfig(kubernetes.kubeconfig);
  const { host } = new URL(endpoint);

  afterAll(() => client.close());

  async function startMachine(): Promise<{ ssh: (command: string) => Promise<Outcome>; name: string }> {
    const folder = await mkdtemp(join(tmpdir(), 'muster-machine-'));
    const name = `machine-${randomBytes(4).toString('hex')}`;
    const program = join(import.meta.dirname, 'fake-kubeadm.ts');
    const kubeadm = `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`;
    await writeFile(join(folder, 'kubeadm'), kubeadm, { mode: 0o755 });
    const sshd = await startSshd({
      KUBEADM_MACHINE: folder,
      KUBELET_EXTRA_ARGS: `--provider-id=muster://${name}`,
      PATH: `${folder}:/usr/bin:/bin`,
    });
    await writeFile(join(folder, 'known_hosts'), `[127.0.0.1]:${sshd.port} ${sshd.hostKey}\n`);
    const ssh = (command: string): Promise<Outcome> => runOverSsh(sshd, join(folder, 'known_hosts'), command);
    onTestFinished(async () => {
      await ssh('kubeadm reset');
      await client.delete(`/api/v1/nodes/${name}`);
      await rm(folder, { recursive: true, force: true });
    });
    return { ssh, name };
  }

  test('one-joins over SSH, once, and is reset', async ({ skip }) => {
    if (found.kind === 'missing') {
      if (process.env['CI'] === 'true') expect.fail(`sshd is missing: ${found.reason}`);
      skip(`needs sshd: ${found.reason}`);
    }
    const { ssh, name } = await startMachine();
    const token = await createBootstrapToken(client);
    const command = (pin: string): string =>
      `kubeadm join ${host} --token ${token.id}.${token.secret} --discovery-token-ca-cert-hash ${pin} --node-name ${name}`;
    const wrong = await ssh(command(`sha256:${'0'.repeat(64)}`));
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('not the pinned one') as string });
    const joined = await ssh(command(hashOfAuthority(ca)));
    expect(joined).toMatchObject({ code: 0, stderr: '' });
    const node = await untilNodeIs(client, name, 'True');
    expect(node.spec.providerID).toBe(`muster://${name}`);
    const again = await ssh(command(hashOfAuthority(ca)));
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('already exists') as string });
    expect((await ssh('kubeadm reset')).code).toBe(0);
    expect(readinessOf(await untilNodeIs(client, name, 'Unknown'))).toBe('Unknown');
  });
});

function runOverSsh(sshd: Sshd, knownHosts: string, command: string): Promise<Outcome> {
  const options = [`UserKnownHostsFile=${knownHosts}`, 'StrictHostKeyChecking=yes', 'BatchMode=yes', 'LogLevel=ERROR'];
  const args = [
    '-F',
    'none',
    '-i',
    sshd.privateKeyFile,
    '-p',
    String(sshd.port),
    ...options.flatMap((one) => ['-o', one]),
  ];
  return new Promise((resolve) => {
    execFile('ssh', [...args, `${sshd.user}@127.0.0.1`, command], (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : 1;
      resolve({ code: error === null ? 0 : code, stdout, stderr });
    });
  });
}
