// A manager as a program of its own, or as a part of a server: over HTTP either way. Which machines it drives beside the simulated ones is the
// caller's choice.
import type { Clock, Ids } from '../../journal/index.ts';
import {
  CertificateKeeper,
  LeaderClient,
  transportTo,
  type CertificateLink,
  type CertificateStore,
  type StoredCertificate,
} from '../../link/index.ts';
import { ReplyClient } from '../../link/runtime.ts';
import type { Log } from '../../operations/index.ts';
import type { MachineDriver } from '../drivers/inventory.ts';
import { SimulatedMachines } from '../drivers/simulated/machine-driver.ts';
import type { InventoryName } from '../model.ts';
import { ManagerMembership, requesterOf } from './membership.ts';
import { HttpManagerLink, type ManagerLinkOptions } from './http-link.ts';
import { HttpMachineLink } from './machine-link.ts';
import type { ManagerStateStore } from './manager-state-store.ts';
import { PauseGate, pausableClock, pausableLink, pausableMachineLink, pausableMachines } from './pause-gate.ts';
import type { ManagerOptions } from './ports.ts';
import { ManagerProgram } from './program.ts';

export interface StartManagerOptions extends Omit<ManagerOptions, 'token' | 'onKeysSerial'>, ManagerLinkOptions {
  /** A token that it was given; without one it joins. */
  readonly token?: (() => string | undefined) | undefined;
  readonly joinToken?: (() => Promise<string | undefined>) | undefined;
  /** Where it keeps its credential and its certificate. Without it a certificate lasts as long as the process. */
  readonly state?: ManagerStateStore | undefined;
  /** How certificates are requested, instead of over HTTP. */
  readonly certify?: CertificateLink['renew'] | undefined;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'secret'>;
  readonly random: () => number;
  readonly log: Log;
  readonly machines?: readonly MachineDriver[];
  /** Halts it while it is closed. */
  readonly pauseGate?: PauseGate;
}

export interface RunningManager {
  /** Whether it holds its lease, by its own clock. */
  readonly mayAct: () => boolean;
  /** Until when its certificate is valid, and with which keys it was issued; undefined while it has none. */
  readonly certificate: () => CertificateKeeper['current'];
  /** Resolves when it has stopped; rejects when it could not continue. */
  readonly ended: Promise<void>;
  /** Stops cleanly: its lease is released, and others take over at once. */
  stop(): Promise<void>;
}

const MACHINE_TIMEOUT_MS = 5000;

/** Both ways over HTTP: to the control plane and to simulated machines, with one certificate. */
function openLinks(options: StartManagerOptions, onCertificate: ManagerLinkOptions['onCertificate']) {
  const link = new HttpManagerLink({ ...options, onCertificate });
  const machines = new ReplyClient({ ...options, onCertificate, timeoutMs: MACHINE_TIMEOUT_MS });
  const present: CertificateLink['present'] = (pair) => {
    link.present(pair);
    machines.present(pair);
  };
  const close = (): void => {
    link.close();
    machines.close();
  };
  return { link, machines, present, close };
}

function keepCertificates(options: StartManagerOptions, links: ReturnType<typeof openLinks>, clock: Clock) {
  const { servers, random, log } = options;
  const name = options.name.toLowerCase();
  const renew: CertificateLink['renew'] = options.certify ?? ((to, renewal) => links.link.certify(to, name, renewal));
  const link = {
    certificates: { renew, present: links.present },
    isAuthenticated: (server: string) => transportTo(server) === 'https',
  };
  const store = options.state ?? rememberCertificate();
  const parts = { leader: new LeaderClient(servers, log), store, program: 'manager' };
  return new CertificateKeeper({ link, clock, random, log }, parts);
}

function rememberCertificate(): CertificateStore {
  let held: StoredCertificate | undefined;
  return {
    readCertificates: () => Promise.resolve(held === undefined ? [] : [held]),
    writeCertificate: (written) => {
      held = written;
      return Promise.resolve();
    },
  };
}

function membershipOf(options: StartManagerOptions, parts: MembershipInputs): ManagerMembership | undefined {
  const { state: store, joinToken = () => Promise.resolve(undefined), servers, ids, random, log } = options;
  if (options.token !== undefined) return undefined;
  if (store === undefined) throw new Error('a manager without a token keeps its credential somewhere');
  const { link, clock, certificates } = parts;
  return new ManagerMembership(
    { link, store, clock, ids, random, log },
    { manager: options.name.toLowerCase(), leader: new LeaderClient(servers, log), certificates, joinToken },
  );
}

interface MembershipInputs {
  readonly link: HttpManagerLink;
  readonly clock: Clock;
  readonly certificates: CertificateKeeper;
}

export function startManager(options: StartManagerOptions): RunningManager {
  const { random, log, machines = [], servers, pauseGate = new PauseGate() } = options;
  const clock = pausableClock(options.clock, pauseGate);
  const links = openLinks(options, (verdict) =>
    verdict === 'refused' ? certificates.onRefused() : certificates.onAccepted(),
  );
  const certificates: CertificateKeeper = keepCertificates(options, links, clock);
  const membership = membershipOf(options, { link: links.link, clock, certificates });
  const token = (): string | undefined => (options.token ?? membership?.credential.bind(membership))?.();
  const toMachines = new HttpMachineLink({ leader: new LeaderClient(servers, log), client: links.machines, token });
  const simulated = new SimulatedMachines({ link: pausableMachineLink(toMachines, pauseGate), clock });
  const drivers = [simulated, ...machines.map((driver) => pausableMachines(driver, pauseGate))];
  const byName = new Map<InventoryName, MachineDriver>(drivers.map((driver) => [driver.name, driver]));
  const ports = { link: pausableLink(links.link, pauseGate), clock, random, log, drivers: byName };
  const onKeysSerial = (serial: number | undefined): void => certificates.noteRotation(serial);
  const program = new ManagerProgram(ports, { ...options, token, onKeysSerial });
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    await membership?.run(stopping.signal);
    await certificates.load(requesterOf(token())?.token);
    const over = new AbortController();
    const keeping = certificates.run(() => requesterOf(token()), over.signal);
    await program.run(stopping.signal).finally(() => over.abort());
    await keeping;
  };
  const ended = run().finally(() => {
    stopping.abort();
    links.close();
  });
  return {
    mayAct: () => program.mayAct,
    certificate: () => certificates.current,
    ended,
    stop: async () => {
      pauseGate.resume();
      stopping.abort();
      await ended;
    },
  };
}
