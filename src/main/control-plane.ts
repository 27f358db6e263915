// One control plane server, composed of its modules: started in an order in which nothing is answered before it is correct, and stopped in
// the reverse order, so that accepted work is kept and the next holder need not wait.
import { join } from 'node:path';
import type { Logger } from 'pino';
import { clockJumpedFinding, storeDamagedFinding, historyDivergedFinding } from '../alarms/index.ts';
import { AdminTokenController, IntegrityController } from '../alarms/runtime.ts';
import { AGENT_CERTIFICATES, AGENT_GATEWAY, GATEWAY_OPTIONS, HEARTBEAT_LISTENER } from '../agent/module.ts';
import type { AgentGateway } from '../agent/runtime.ts';
import { ADMIN_TOKEN_FILE, createServer, hashSecret, Metrics, type Server } from '../api/runtime.ts';
import { provide, Runtime } from '../composition/index.ts';
import { LIVENESS_CONTROLLER } from '../hosts/index.ts';
import type { Journal } from '../journal/index.ts';
import { TRUSTED_TIME } from '../journal/module.ts';
import { OWN_KEYS } from '../keys/module.ts';
import { BACK_END_CREDENTIALS, SIMULATED_NETWORK } from '../network/index.ts';
import type { SimulatedNetwork } from '../network/runtime.ts';
import { LeaseController } from '../operations/runtime.ts';
import { setUpAgentCertificates, type AgentCertificatePolicy } from './agent-certificates.ts';
import { readCertificate, type Certificate, type CertificatePaths } from './certificate.ts';
import { CertificateReloader } from './certificate-reloader.ts';
import { readClocks, realClock } from './clock.ts';
import { AUDIT_FOLDER } from './data-folder.ts';
import { prepareFirstStart } from './first-start.ts';
import { realIds } from './ids.ts';
import type { KeyRing } from './key-ring.ts';
import { openKeyRing, createProofHooks, createStatementIssuer } from './statement-signing.ts';
import { parseListenAddress } from './listen-address.ts';
import { openJournal } from './open-journal.ts';
import { openStore, type OpenStore } from './open-store.ts';
import { PROGRAM } from './modules.ts';
import { readNetworkCredentials } from './network-credentials.ts';
import { StartFailure, cannotListen, cannotOpenStore } from './start-failure.ts';
import { surfaceOf } from './surface.ts';
import { findJumpAtStart, createTrustedTime } from './trusted-time.ts';
import { Witness } from './witness.ts';

export interface ControlPlaneOptions {
  readonly dataFolder: string;
  readonly listen: string;
  /** `sqlite`, or the URL of a PostgreSQL database. */
  readonly store: string;
  readonly advertise?: string;
  readonly tls?: CertificatePaths;
  /** Whether agents get certificates, and whether they need them; without TLS neither. */
  readonly agentCertificates?: AgentCertificatePolicy;
  /** The folder of the control plane's keys; the data folder by default. */
  readonly keys?: string;
  readonly insecure: boolean;
  readonly newAdminToken: boolean;
  /** The revision to which an operator accepts to fall back, where the store is damaged or lost commits. */
  readonly acceptLoss?: number;
  /** A file with the credentials of network back ends. */
  readonly networkCredentials?: string;
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
  readonly tokenFile: string;
  /** Rejects when a part fails without recovery. */
  readonly failed: Promise<never>;
  /** Reloads the certificate for new connections. Without TLS it only logs that there is none. */
  reloadCertificate(): void;
  /** Accepts nothing new, finishes requests in progress, releases the lease, closes the store. */
  stop(): Promise<void>;
}

interface Runner {
  run(signal: AbortSignal): Promise<void>;
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

/** The journal with its witness, and the controller that records what they detect. */
async function openJournalAndWitness(open: OpenStore, options: ControlPlaneOptions) {
  const { dataFolder, log, acceptLoss } = options;
  const metrics = new Metrics();
  const onReported = (code: string): void => metrics.countIntegrityFinding(code);
  const witness = new Witness(dataFolder);
  const noticed: { integrity?: IntegrityController } = {};
  const { journal, accepted } = await openJournal({
    ...{ open, witness, log, acceptLoss },
    journal: {
      ...{ registry: PROGRAM.newRegistry(), clock, ids },
      onPosition: (position) => witness.record(open.store.journalId, position),
      onDiverged: (divergence) => {
        witness.hold();
        noticed.integrity?.report(historyDivergedFinding(divergence));
      },
      onListenerError: (err) => log.error({ err }, 'a listener to the journal failed'),
    },
  });
  const onRecorded = (): void => witness.release(journal.journalId, journal.position);
  const integrity = new IntegrityController({ journal, clock, log, onRecorded, onReported });
  noticed.integrity = integrity;
  const checkInBackground = open.check((findings) => {
    if (findings.length > 0) integrity.report(storeDamagedFinding(findings));
  });
  const jump = await findJumpAtStart(open.store, clock.nowMs());
  if (jump !== undefined) integrity.report(clockJumpedFinding(nameOf(options), jump));
  for (const finding of accepted) integrity.report({ ...finding, by: 'accept-loss' });
  if (accepted.length === 0) onRecorded();
  return { journal, integrity, witness, metrics, checkInBackground };
}

async function startServer(open: OpenStore, options: ControlPlaneOptions): Promise<ControlPlane> {
  const { log, dataFolder, newAdminToken, signal } = options;
  const { journal, integrity, witness, metrics, checkInBackground } = await openJournalAndWitness(open, options);
  // The lease holds the server's address, which is known once it listens; until then no holder is known.
  const deciding: { lease?: LeaseController; url?: string } = {};
  const certificate = options.tls && certificateToStartWith(options.tls);
  const keys = openKeyRing(journal, options.keys ?? dataFolder, log);
  const certificates = setUpAgentCertificates(certificate && options.agentCertificates, {
    ...{ keys, clock, journal, registry: metrics.registry },
  });
  const isSecure = certificate !== undefined;
  const runtime = runtimeOf({ journal, integrity, metrics, keys, certificates, isSecure, deciding }, options);
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
  const lease = new LeaseController({ journal, clock, log, holder: ids.next('server'), url });
  deciding.lease = lease;
  deciding.url = url;
  const reloader = reloaderOf(server, certificate, options);
  const parts = new RunnerGroups(
    [...(reloader === undefined ? [] : [reloader]), keys, { run: (over) => journal.follow(over) }],
    [lease],
    [...runtime.controllers(), integrity, new AdminTokenController({ journal, clock, log })],
  );
  const stop = async (): Promise<void> => {
    await server.close();
    await parts.stop();
    await open.close();
    witness.close();
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
  const reloadCertificate = (): void => {
    keys.reload();
    if (reloader === undefined) log.info('SIGHUP: keys were reloaded; there is no certificate to reload');
    else reloader.reload();
  };
  const tokenFile = join(dataFolder, ADMIN_TOKEN_FILE);
  const simulatedNetwork = runtime.get(SIMULATED_NETWORK);
  return { url, journal, gateway, simulatedNetwork, tokenFile, failed: parts.failed, reloadCertificate, stop };
}

/** The name of this server for operators, before it listens. */
function nameOf({ advertise, listen }: Pick<ControlPlaneOptions, 'advertise' | 'listen'>): string {
  return advertise === undefined ? listen : new URL(advertise).host;
}

interface RuntimeParts {
  readonly journal: Journal;
  readonly integrity: IntegrityController;
  readonly metrics: Metrics;
  readonly keys: KeyRing;
  readonly certificates: ReturnType<typeof setUpAgentCertificates>;
  readonly isSecure: boolean;
  readonly deciding: { readonly lease?: LeaseController; readonly url?: string };
}

/** All modules, with what this server provides to them. */
function runtimeOf(
  { journal, integrity, metrics, keys, certificates, isSecure, deciding }: RuntimeParts,
  options: ControlPlaneOptions,
): Runtime {
  const credentials = readNetworkCredentials(options.networkCredentials);
  return new Runtime(PROGRAM, { journal, clock, ids, log: options.log }, [
    provide(BACK_END_CREDENTIALS, () => credentials),
    provide(TRUSTED_TIME, () => createTrustedTime({ journal, integrity, readClocks, server: nameOf(options) })),
    provide(OWN_KEYS, () => keys),
    provide(HEARTBEAT_LISTENER, countHeartbeats(metrics)),
    provide(AGENT_CERTIFICATES, () => certificates),
    provide(GATEWAY_OPTIONS, () => ({
      hash: hashSecret,
      holder: () => deciding.lease?.holder(),
      statements: createStatementIssuer({ journal, keys, isSecure, deciding }),
    })),
  ]);
}

function countHeartbeats(
  metrics: Metrics,
): (runtime: Runtime) => { recordHeartbeat(host: string, isUp: boolean): void } {
  return (runtime) => {
    const liveness = runtime.get(LIVENESS_CONTROLLER);
    return {
      recordHeartbeat: (host, isUp) => {
        metrics.countHeartbeat();
        liveness.recordHeartbeat(host, isUp);
      },
    };
  };
}

function serverOptions(
  options: ControlPlaneOptions,
  certificate: Certificate | undefined,
  { check, clients }: ReturnType<typeof setUpAgentCertificates>,
) {
  const { insecure, advertise, version, dataFolder } = options;
  return {
    ...(check !== undefined && { checkPeer: check }),
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
  server: Server,
  served: Certificate | undefined,
  { tls: paths, log }: ControlPlaneOptions,
): CertificateReloader | undefined {
  if (paths === undefined || served === undefined) return undefined;
  const serve = (certificate: Certificate): void => server.replaceCertificate(certificate);
  return new CertificateReloader({ paths, served, serve, clock, log, registry: server.metrics.registry });
}

async function startListening(server: Server, { listen }: ControlPlaneOptions): Promise<string> {
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

/** Runs the parts of a server and stops them group by group, the last one first. */
class RunnerGroups {
  readonly failed: Promise<never>;
  readonly #groups: { readonly over: AbortController; readonly ended: Promise<unknown> }[];

  constructor(...groups: readonly (readonly Runner[])[]) {
    let fail: (error: unknown) => void;
    this.failed = new Promise<never>((_, reject) => {
      fail = reject;
    });
    // The waiter gets the error; before there is one, it must not end the process.
    this.failed.catch(() => undefined);
    this.#groups = groups.map((runners) => {
      const over = new AbortController();
      const run = (runner: Runner): Promise<void> => runner.run(over.signal).catch((error: unknown) => fail(error));
      return { over, ended: Promise.all(runners.map(run)) };
    });
  }

  async stop(): Promise<void> {
    for (const { over, ended } of this.#groups.toReversed()) {
      over.abort();
      await ended;
    }
  }
}
