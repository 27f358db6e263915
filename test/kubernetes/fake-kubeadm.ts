// What a worker's machine does by `kubeadm join`, without containers: the real discovery and the real TLS bootstrap, then a fake kubelet as a
// process of its own that outlives this one. `kubeadm reset` ends it, `kubeadm restart` starts it again. The folder KUBEADM_MACHINE is the machine's disk, where a test may put
// files by these names: `fails`, `hangs` (as long as it is there), `pretends`.
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { waitFor } from '../ha/wait-for.ts';
import { bootstrapKubelet, discoverCluster } from './joins.ts';
import { KubeClient } from './kube-client.ts';

const MACHINE = process.env['KUBEADM_MACHINE'] ?? '';
const KUBECONFIG = join(MACHINE, 'kubelet.conf');
const PID = join(MACHINE, 'kubelet.pid');
const KUBELET = join(MACHINE, 'kubelet.json');
/** A real one waits for minutes for a token that is not there any more. */
const PATIENCE_MS = Number(process.env['KUBEADM_PATIENCE_MS'] ?? '120000');

interface JoinSettings {
  readonly endpoint: string;
  readonly token: string;
  readonly pin: string;
  readonly node: string;
  readonly providerId?: string | undefined;
}

interface JoinConfiguration {
  readonly discovery: {
    readonly bootstrapToken: {
      readonly apiServerEndpoint: string;
      readonly token: string;
      readonly caCertHashes: readonly string[];
    };
  };
  readonly nodeRegistration: { readonly name: string; readonly kubeletExtraArgs: Readonly<Record<string, string>> };
}

function readConfiguration(path: string): JoinSettings {
  const { discovery, nodeRegistration } = parse(readFileSync(path, 'utf8')) as JoinConfiguration;
  const { apiServerEndpoint: endpoint, token, caCertHashes } = discovery.bootstrapToken;
  const { name: node, kubeletExtraArgs } = nodeRegistration;
  return { endpoint, token, pin: caCertHashes[0] ?? '', node, providerId: kubeletExtraArgs['provider-id'] };
}

/** What a test has armed. True when nothing more is done. */
async function meetFault(): Promise<boolean> {
  if (existsSync(join(MACHINE, 'fails'))) throw new Error('[ERROR Test]: this machine fails');
  const hang = join(MACHINE, 'hangs');
  if (existsSync(hang)) writeFileSync(join(MACHINE, 'hanging'), String(process.pid));
  while (existsSync(hang)) await sleep(50);
  if (!existsSync(join(MACHINE, 'pretends'))) return false;
  process.stdout.write('This node has joined the cluster\n');
  return true;
}

async function joinCluster({ endpoint, token, pin, node, providerId }: JoinSettings): Promise<void> {
  if (await meetFault()) return;
  // As kubeadm's preflight check.
  if (existsSync(KUBECONFIG)) throw new Error(`[ERROR FileAvailable--kubelet.conf]: ${KUBECONFIG} already exists`);
  const [id = '', secret = ''] = token.split('.');
  const cluster = await discoverCluster(`https://${endpoint}`, { id, secret }, pin);
  mkdirSync(MACHINE, { recursive: true });
  writeFileSync(KUBECONFIG, await bootstrapKubelet(cluster, { id, secret }, node), { mode: 0o600 });
  writeFileSync(KUBELET, JSON.stringify({ node, providerId }));
  startKubelet();
  const client = KubeClient.of(readFileSync(KUBECONFIG, 'utf8'));
  await waitFor(`node ${node}`, () => client.find(`/api/v1/nodes/${node}`));
  client.close();
  process.stdout.write('This node has joined the cluster\n');
}

function startKubelet(): void {
  const { node, providerId } = JSON.parse(readFileSync(KUBELET, 'utf8')) as { node: string; providerId?: string };
  const log = openSync(join(MACHINE, 'kubelet.log'), 'a');
  const program = join(import.meta.dirname, 'fake-kubelet-process.ts');
  const kubelet = spawn(process.execPath, [program, KUBECONFIG, node], {
    stdio: ['ignore', log, log],
    detached: true,
    env: {
      ...process.env,
      ...(providerId !== undefined && { KUBELET_EXTRA_ARGS: `--provider-id=${providerId}` }),
    },
  });
  closeSync(log);
  kubelet.unref();
  writeFileSync(PID, String(kubelet.pid));
}

function stopKubelet(): void {
  if (existsSync(PID)) killKubelet(Number(readFileSync(PID, 'utf8')));
}

function resetMachine(): void {
  stopKubelet();
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
      config: { type: 'string' },
      output: { type: 'string' },
      force: { type: 'boolean' },
    },
  });
  const [command, endpoint = ''] = positionals;
  if (MACHINE === '') throw new Error('KUBEADM_MACHINE names no folder');
  mkdirSync(MACHINE, { recursive: true });
  appendFileSync(join(MACHINE, 'calls'), `${process.argv.slice(2).join(' ')}\n`);
  switch (command) {
    case 'version':
      process.stdout.write('v1.20.2\n');
      break;
    case 'reset':
      resetMachine();
      break;
    case 'restart':
      stopKubelet();
      startKubelet();
      break;
    case 'join': {
      const { token, 'discovery-token-ca-cert-hash': pin, 'node-name': node, config } = values;
      const settings = config === undefined ? { endpoint, token, pin, node } : readConfiguration(config);
      const patience = setTimeout(() => process.exit(1), PATIENCE_MS);
      await joinCluster(settings);
      clearTimeout(patience);
      break;
    }
    default:
      throw new Error(`unknown command "${command}" for "kubeadm"`);
  }
}

await main().catch((error: unknown) => {
  process.stderr.write(`error execution phase: ${String(error)}\n`);
  process.exit(1);
});
