// One control plane server, composed of its modules: started in an order in which nothing is answered before it is correct, and stopped in
// the reverse order, so that accepted work is kept and the next holder need not wait.
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { SecretMask } from '../access/index.ts';
import { INTEGRITY_CONTROLLER } from '../alarms/module.ts';
import { AGENT_GATEWAY } from '../agent/module.ts';
import type { AgentGateway } from '../agent/runtime.ts';
import { ADMIN_TOKEN_FILE, createServer, Metrics, type ApiServer } from '../api/runtime.ts';
import { IronicInventory, type IronicClient } from '../baremetal/runtime.ts';
import type { Controller, Runtime } from '../composition/index.ts';
import type { Journal } from '../journal/index.ts';
import type { CertificateIssuer } from '../link/index.ts';
import { SIMULATED_NETWORK } from '../network/index.ts';
import type { SimulatedNetwork } from '../network/runtime.ts';
import { LEASE_CONTROLLER } from '../operations/module.ts';
import { readCertificate, type Certificate, type CertificatePaths } from './certificate.ts';
import { CertificateReloader } from './certificate-reloader.ts';
import {
  setUpClientCertificates,
  type ClientCertificatePolicies,
  type ClientCertificates,
} from './client-certificates.ts';
import { realClock } from './clock.ts';
import { composeServer } from './compose-server.ts';
import { AUDIT_FOLDER } from './data-folder.ts';
import { prepareFirstStart } from './first-start.ts';
import { realIds } from './ids.ts';
import { openKeyRing, createProofHooks } from './statement-signing.ts';
import type { KeyRing } from './key-ring.ts';
import { openSecretKeys, type SecretKeys } from './secret-keys.ts';
import { parseListenAddress } from './listen-address.ts';
import { openStore, type OpenStore } from './open-store.ts';
import { readNetworkCredentials } from './network-credentials.ts';
import { RunnerGroups } from './runner-groups.ts';
import { StartFailure, cannotListen, cannotOpenStore } from './start-failure.ts';
import { surfaceOf } from './surface.ts';
import { openWatchedJournal } from './watched-journal.ts';

export interface ControlPlaneOptions {
  readonly dataFolder: string;
  readonly listen: string;
  /** `sqlite`, or the URL of a PostgreSQL database. */
  readonly store: string;
  readonly advertise?: string;
  readonly tls?: CertificatePaths;
  /** Whether agents and managers get certificates, and whether they need them; without TLS neither. */
  readonly certificates?: ClientCertificatePolicies;
  /** The folder of the control plane's keys; the data folder by default. */
  readonly keys?: string;
  /** The file with the keys that seal secrets; else one in the data folder, where that is the whole store. */
  readonly secretKey?: string;
  /** Knows the secrets that must not be in a log. */
  readonly mask: SecretMask;
  readonly insecure: boolean;
  readonly newAdminToken: boolean;
  /** The revision to which an operator accepts to fall back, where the store is damaged or lost commits. */
  readonly acceptLoss?: number;
  /** A file with the credentials of network back ends. */
  readonly networkCredentials?: string;
  /** The Ironic whose nodes are managed, too. */
  readonly ironic?: IronicClient | undefined;
  readonly version: string;
  readonly log: Logger;
  /** Aborted to stop it, which may be before it has started. */
  readonly signal: AbortSignal;
}

export interface ControlPlane {
  readonly url: string;
  readonly journal: Journal;
  readonly gateway: AgentGateway;
  readonly simulatedNetwork: SimulatedNetwork;
  /** Absent where managers get no certificates. */
  readonly managerIssuer: CertificateIssuer | undefined;
  readonly tokenFile: string;
  /** Rejects when a part fails without recovery. */
  readonly failed: Promise<never>;
  /** Reloads the certificate for new connections. Without TLS it only logs that there is none. */
  reloadCertificate(): void;
  /** Accepts nothing new, finishes requests in progress, releases the lease, closes the store. */
  stop(): Promise<void>;
}

const ids = realIds();
const clock = realClock;

export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const open = await openStore(options.store, options.dataFolder);
  try {
    return await startServer(open, options);
  } catch (error) {
    await open.close();
    throw cannotOpenStore(open.name, error) ?? error;
  }
}

async function startServer(open: OpenStore, options: ControlPlaneOptions): Promise<ControlPlane> {
  const { log, mask, dataFolder, newAdminToken, signal } = options;
  const name = nameOf(options);
  const watched = await openWatchedJournal(open, { ...options, name });
  const { journal, release } = watched;
  const metrics = new Metrics();
  const own: { url?: string } = {};
  const certificate = options.tls && certificateToStartWith(options.tls);
  const keys = openKeyRing(journal, options.keys ?? dataFolder, log);
  const secrets = openSecretKeys(journal, options);
  const certificates = setUpClientCertificates((certificate && options.certificates) ?? {}, {
    ...{ keys, clock, journal, registry: metrics.registry },
  });
  const runtime = composeServer({
    ...{ journal, release, metrics, keys, secrets, mask, certificates, name, own, log },
    isSecure: certificate !== undefined,
    credentials: readNetworkCredentials(options.networkCredentials, mask),
    outsideInventories: options.ironic === undefined ? [] : [new IronicInventory(options.ironic)],
  });
  const checkInBackground = await watched.reportTo(runtime.get(INTEGRITY_CONTROLLER));
  const gateway = runtime.get(AGENT_GATEWAY);
  const server = createServer({
    ...createProofHooks(gateway),
    ...surfaceOf(runtime),
    ...serverOptions(options, certificate, certificates),
    journal,
    clock,
    ids,
    metrics,
    log,
  });
  const url = await startListening(server, options);
  own.url = url;
  const lease = runtime.get(LEASE_CONTROLLER);
  const reloader = reloaderOf(server, certificate, options);
  const parts = groupRunners(runtime, [...(reloader === undefined ? [] : [reloader]), keys]);
  const stop = async (): Promise<void> => {
    await server.close();
    await parts.stop();
    await open.close();
    watched.close();
  };
  try {
    await Promise.race([
      prepareFirstStart({ journal, clock, ids, lease, dataFolder, newAdminToken, log, signal }),
      parts.failed,
    ]);
  } catch (error) {
    await stop();
    throw error;
  }
  // Not earlier: loading the fleet needs the processor.
  checkInBackground();
  const reloadCertificate = (): void => reloadFiles({ keys, secrets, reloader }, log);
  const tokenFile = join(dataFolder, ADMIN_TOKEN_FILE);
  const simulatedNetwork = runtime.get(SIMULATED_NETWORK);
  const { managerIssuer } = certificates;
  const { failed } = parts;
  return { url, journal, gateway, simulatedNetwork, managerIssuer, tokenFile, failed, reloadCertificate, stop };
}

/** In the order in which they are started: files that are read again, the lease, then what decides under it. */
function groupRunners(runtime: Runtime, files: readonly Controller[]): RunnerGroups {
  const { journal } = runtime.environment;
  return new RunnerGroups(
    [...files, { run: (over) => journal.follow(over) }],
    [runtime.get(LEASE_CONTROLLER)],
    runtime.controllers(),
  );
}

interface ReloadedFiles {
  readonly keys: KeyRing;
  readonly secrets: SecretKeys;
  readonly reloader: CertificateReloader | undefined;
}

function reloadFiles({ keys, secrets, reloader }: ReloadedFiles, log: Logger): void {
  keys.reload();
  secrets.reload();
  if (reloader === undefined) log.info('SIGHUP: keys were reloaded; there is no certificate to reload');
  else reloader.reload();
}

/** The name of this server for operators, before it listens. */
function nameOf({ advertise, listen }: Pick<ControlPlaneOptions, 'advertise' | 'listen'>): string {
  return advertise === undefined ? listen : new URL(advertise).host;
}

function serverOptions(
  options: ControlPlaneOptions,
  certificate: Certificate | undefined,
  { server, clients }: ClientCertificates,
) {
  const { insecure, advertise, version, dataFolder } = options;
  return {
    ...server,
    auditFolder: join(dataFolder, AUDIT_FOLDER),
    insecure,
    version,
    ...(advertise !== undefined && { url: advertise }),
    ...(certificate !== undefined && {
      tls: { cert: certificate.cert, key: certificate.key, ...(clients !== undefined && { clients }) },
    }),
  };
}

function certificateToStartWith(paths: CertificatePaths): Certificate {
  const read = readCertificate(paths);
  if (read.kind === 'unusable') throw new StartFailure(read.reason);
  return read.certificate;
}

function reloaderOf(
  server: ApiServer,
  served: Certificate | undefined,
  { tls: paths, log }: ControlPlaneOptions,
): CertificateReloader | undefined {
  if (paths === undefined || served === undefined) return undefined;
  const serve = (certificate: Certificate): void => server.replaceCertificate(certificate);
  return new CertificateReloader({ paths, served, serve, clock, log, registry: server.metrics.registry });
}

async function startListening(server: ApiServer, { listen }: ControlPlaneOptions): Promise<string> {
  const address = parseListenAddress(listen);
  try {
    return await server.listen(address);
  } catch (error) {
    await server.close();
    const insecure = (error as { readonly code?: unknown }).code === 'insecure-listen';
    throw insecure ? new StartFailure(capitalize((error as Error).message)) : cannotListen(listen, error);
  }
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
