// muster serve: one control plane server, until it is stopped.
import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import { SecretMask } from '../access/index.ts';
import type { IronicClient } from '../baremetal/runtime.ts';
import type { ClientCertificatePolicy } from './client-certificates.ts';
import { startControlPlane, type ControlPlane, type ControlPlaneOptions } from './control-plane.ts';
import { announceIronic, openIronic, type IronicFlags } from './ironic.ts';
import { parseListenAddress } from './listen-address.ts';
import { writePrivateFilesOnly } from './private-folder.ts';
import { programLog, writeSentence } from './program-log.ts';
import { StartFailure, diskFullFailure } from './start-failure.ts';
import { isOnTerminal, listenForStop, runUntilStopped } from './stop-signal.ts';

/** The options of the command line. */
export interface ServeOptions extends IronicFlags {
  readonly data: string;
  readonly listen: string;
  readonly store?: string;
  readonly advertise?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly keys?: string;
  readonly agentCertificates: ClientCertificatePolicy;
  readonly managerCertificates: ClientCertificatePolicy;
  readonly insecure?: boolean;
  readonly newAdminToken?: boolean;
  /** A revision, as text. */
  readonly acceptLoss?: string;
  readonly networkCredentials?: string;
  /** The file with the keys that seal secrets. */
  readonly secretKey?: string;
  /** The number of simulated hosts, as text. */
  readonly demo: string;
  /** Hosts that join get simulated agents, also where no host is simulated at the start. */
  readonly simulatedAgents?: boolean;
  /** A manager of bare-metal nodes that runs inside the server. */
  readonly manager?: string;
  readonly logLevel: string;
}

export async function serve(options: ServeOptions, version: string): Promise<number> {
  return runServer(options, version, (plane) => {
    const token = existsSync(plane.tokenFile) ? `Admin token: ${plane.tokenFile}\n` : '';
    writeSentence(process.stdout, `Muster ${version} answers at ${plane.url}\n${token}`);
  });
}

/** Starts a server, prints its address, and waits for its end. */
export async function runServer(
  options: ServeOptions,
  version: string,
  announce: (plane: ControlPlane) => void | Promise<void>,
): Promise<number> {
  const started: { plane?: ControlPlane } = {};
  const reload = isOnTerminal() ? undefined : () => started.plane?.reloadCertificate();
  const stop = listenForStop((text) => process.stderr.write(text), reload);
  writePrivateFilesOnly();
  const mask = new SecretMask();
  const log = programLog(options.logLevel, mask);
  try {
    const ironic = openIronic(options, log, { mask });
    const plane = await startControlPlane({ ...planeOptions(options, version), ironic, log, mask, signal: stop });
    started.plane = plane;
    log.info({ url: plane.url, revision: plane.journal.fleet.revision }, 'ready');
    const fleet = await startDemoAgents(plane, options, log);
    if (ironic !== undefined) void announceIronic(ironic, log, stop);
    const running = await startManagersInside(fleet, { options, version, log, ironic });
    await announce(plane);
    await runUntilStopped({ ended: running.failed, stop: () => running.stop() }, stop);
    log.info({ revision: plane.journal.fleet.revision }, 'stopped');
    return 0;
  } catch (error) {
    const failure = error instanceof StartFailure ? error : diskFullFailure(options.data, error);
    if (failure !== undefined) writeSentence(process.stderr, `${failure.message}\n`);
    else log.fatal({ err: error }, 'stopped by a fault of the program');
    return 1;
  }
}

function requireTlsForCertificates({ tlsCert, agentCertificates, managerCertificates }: ServeOptions): void {
  if (tlsCert !== undefined) return;
  const whose =
    agentCertificates === 'required' ? 'Agents' : managerCertificates === 'required' ? 'Managers' : undefined;
  if (whose === undefined) return;
  const option = `--${whose.toLowerCase().slice(0, -1)}-certificates required`;
  throw new StartFailure(`${whose} present certificates over TLS only: ${option} needs --tls-cert.`);
}

function planeOptions(
  options: ServeOptions,
  version: string,
): Omit<ControlPlaneOptions, 'log' | 'mask' | 'signal' | 'ironic'> {
  const { tlsCert, tlsKey, advertise, networkCredentials, secretKey } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new StartFailure('TLS needs both --tls-cert and --tls-key.');
  }
  requireTlsForCertificates(options);
  if (advertise !== undefined && !URL.canParse(advertise)) {
    throw new StartFailure(`"${advertise}" is not a URL. Write it like https://muster-1.example.org:7070.`);
  }
  const store = options.store ?? process.env['MUSTER_STORE'] ?? 'sqlite';
  requireReachableAddress(options, store);
  return {
    dataFolder: options.data,
    listen: options.listen,
    store,
    insecure: options.insecure === true,
    certificates: { agents: options.agentCertificates, managers: options.managerCertificates },
    newAdminToken: options.newAdminToken === true,
    version,
    ...(options.acceptLoss !== undefined && { acceptLoss: Number(options.acceptLoss) }),
    ...(advertise !== undefined && { advertise }),
    ...(options.keys !== undefined && { keys: options.keys }),
    ...(networkCredentials !== undefined && { networkCredentials }),
    ...(secretKey !== undefined && { secretKey }),
    ...(tlsCert !== undefined && tlsKey !== undefined && { tls: { cert: tlsCert, key: tlsKey } }),
  };
}

/** Servers that share a store send writes to each other: a wildcard address cannot be sent to. */
function requireReachableAddress({ listen, advertise }: ServeOptions, store: string): void {
  const { host } = parseListenAddress(listen);
  if (store === 'sqlite' || advertise !== undefined || (host !== '0.0.0.0' && host !== '::')) return;
  throw new StartFailure(`Other servers cannot reach this one at ${host}. Name its own address with --advertise.`);
}

interface ManagerInside {
  readonly options: ServeOptions;
  readonly version: string;
  readonly log: Logger;
  readonly ironic: IronicClient | undefined;
}

/** They are stopped before the server: their leases are released while the server can still take that. */
async function startManagersInside(
  plane: ControlPlane,
  { options, version, log, ironic }: ManagerInside,
): Promise<ControlPlane> {
  const { data: dataFolder, tlsCert } = options;
  const names = await namesOfManagers(options);
  if (names.length === 0) return plane;
  const { startEmbeddedManager } = await import('./embedded-manager.ts');
  const managers = await Promise.all(
    names.map((name) => startEmbeddedManager(plane, { name, dataFolder, version, tlsCert, log, ironic })),
  );
  return {
    ...plane,
    stop: async () => {
      await Promise.all(managers.map((manager) => manager.stop()));
      await plane.stop();
    },
  };
}

/** The one of the command line, and those of the demonstration. */
async function namesOfManagers({ manager, demo }: ServeOptions): Promise<readonly string[]> {
  const named = manager === undefined ? [] : [manager.toLowerCase()];
  if (isEmptyDemo(demo)) return named;
  const { DEMO_MANAGERS } = await import('./demo-nodes.ts');
  return [...new Set([...named, ...DEMO_MANAGERS])];
}

/** Nothing is simulated at the start. */
export function isEmptyDemo(demo: string): boolean {
  return demo === '0' || demo === 'none';
}

async function startDemoAgents(plane: ControlPlane, options: ServeOptions, log: Logger): Promise<ControlPlane> {
  const isEmpty = isEmptyDemo(options.demo);
  if (isEmpty && options.simulatedAgents !== true) return plane;
  const { startDemoFleet } = await import('./demo-fleet.ts');
  const fleet = await startDemoFleet(plane, {
    hosts: isEmpty ? 0 : Number(options.demo),
    dataFolder: options.data,
    log,
  });
  return {
    ...plane,
    stop: async () => {
      await fleet.stop();
      await plane.stop();
    },
  };
}
