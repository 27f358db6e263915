// What a worker's machine does when it is told `kubeadm join`, without containers: the real discovery and the real TLS bootstrap, then a fake kubelet as a
// process of its own that outlives this one. `kubeadm reset` ends it. The folder KUBEADM_MACHINE is the machine's disk.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { waitFor } from '../ha/wait-for.ts';
import { bootstrapKubelet, discoverCluster } from './joins.ts';
import { KubeClient } from './kube-client.ts';

const MACHINE = process.env['KUBEADM_MACHINE'] ?? '';
const KUBECONFIG = join(MACHINE, 'kubelet.conf');
const PID = join(MACHINE, 'kubelet.pid');

async function joinCluster(endpoint: string, token: string, pin: string, node: string): Promise<void> {
  // As kubeadm's preflight check.
  if (existsSync(KUBECONFIG)) throw new Error(`[ERROR FileAvailable--kubelet.conf]: ${KUBECONFIG} already exists`);
  const [id = '', secret = ''] = token.split('.');
  const cluster = await discoverCluster(`https://${endpoint}`, { id, secret }, pin);
  mkdirSync(MACHINE, { recursive: true });
  writeFileSync(KUBECONFIG, await bootstrapKubelet(cluster, { id, secret }, node), { mode: 0o600 });
  startKubelet(node);
  const client = KubeClient.of(readFileSync(KUBECONFIG, 'utf8'));
  await waitFor(`node ${node}`, () => client.find(`/api/v1/nodes/${node}`));
  client.close();
  process.stdout.write('This node has joined the cluster\n');
}

function startKubelet(node: string): void {
  const log = openSync(join(MACHINE, 'kubelet.log'), 'a');
  const program = join(import.meta.dirname, 'fake-kubelet-process.ts');
  const kubelet = spawn(process.execPath, [program, KUBECONFIG, node], {
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  kubelet.unref();
  writeFileSync(PID, String(kubelet.pid));
}

function resetMachine(): void {
  if (existsSync(PID)) killKubelet(Number(readFileSync(PID, 'utf8')));
  for (const file of [PID, KUBECONFIG]) rmSync(file, { force: true });
  process.stdout.write('Stopped the kubelet and removed what this node had of the cluster\n');
}

function killKubelet(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It ended before.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      token: { type: 'string', default: '' },
      'discovery-token-ca-cert-hash': { type: 'string', default: '' },
      'node-name': { type: 'string', default: hostname() },
    },
  });
  const [command, endpoint = ''] = positionals;
  if (MACHINE === '') throw new Error('KUBEADM_MACHINE names no folder');
  if (command === 'reset') resetMachine();
  else if (command === 'join')
    await joinCluster(endpoint, values.token, values['discovery-token-ca-cert-hash'], values['node-name']);
  else throw new Error(`unknown command "${command}" for "kubeadm"`);
}

await main().catch((error: unknown) => {
  process.stderr.write(`error execution phase: ${String(error)}\n`);
  process.exitCode = 1;
});
