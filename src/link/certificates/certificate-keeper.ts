// Keeps the certificate of a program that dials the control plane: requests it, writes it down together with its key, shows it to servers, and renews
// it. A new pair is shown only when it is on disk. It never stops the program: without a certificate the servers decide what that means.
import { X509Certificate } from 'node:crypto';
import type { Clock } from '../../journal/index.ts';
import type { Log } from '../../operations/index.ts';
import { Backoff } from '../backoff.ts';
import type { KeyPair, Reply, CallTarget } from '../call.ts';
import type { LeaderClient } from '../leader-client.ts';
import { DiskFailed } from '../state/disk.ts';
import { WakeSignal } from '../wake-signal.ts';
import type { IssuedCertificate, RenewalRequest, StoredCertificate } from './certificate-messages.ts';
import { renewalAtMs, type RenewalState } from './certificate-renewal.ts';
import {
  isKeyOf,
  newCertificateKey,
  createCertificateRequest,
  validityOf,
  type CertificateKey,
  type Validity,
} from './client-certificate.ts';

/** The program's own certificate, on links that authenticate both ends. */
export interface CertificateLink {
  /** Requests a certificate for the holder of this credential. */
  renew(to: CallTarget, renewal: RenewalRequest): Promise<Reply<IssuedCertificate>>;
  /** Every connection that is opened from now on shows this certificate; undefined: none. Requests under way are finished. */
  present(pair: KeyPair | undefined): void;
}

export interface CertificatePorts {
  readonly link: {
    /** Absent where the program itself is not authenticated by a certificate. */
    readonly certificates?: CertificateLink | undefined;
    /** Whether whoever answers at this address has proven to be one of our servers. */
    isAuthenticated(server: string): boolean;
  };
  readonly clock: Clock;
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number;
  readonly log: Log;
}

/** Rejects with `DiskFailed`. */
export interface CertificateStore {
  /** The last one, and earlier ones: even an old one is good to request another. */
  readCertificates(): Promise<readonly StoredCertificate[]>;
  writeCertificate(held: StoredCertificate): Promise<void>;
}

export interface CertificateKeeperParts {
  readonly leader: LeaderClient;
  readonly store: CertificateStore;
  /** Who it is to operators: `agent`, `manager`. */
  readonly program: string;
}

/** The requester: the id of its credential, and what it presents to servers. */
export interface CertificateRequester {
  readonly token: string;
  readonly credential: string;
}

interface CurrentCertificate extends StoredCertificate, Validity {}

/** A request that waits for its answer, with the key that it was made for. */
export interface PendingCertificateRequest {
  readonly key: CertificateKey;
  readonly request: string;
}

/** Clocks jump: the time is looked at again this often. */
const RECHECK_MS = 3_600_000;
const BACKOFF_MAX_MS = 60_000;
/** A server that issues no certificates, or does not know how, gets no request at every round. */
const NOT_ISSUED_RETRY_MS = 3_600_000;
/** The name in a request does not count: servers identify the requester by its credential. */
const REQUEST_NAME = 'muster';

export class CertificateKeeper {
  readonly #ports: CertificatePorts;
  readonly #parts: CertificateKeeperParts;
  readonly #wakeSignal = new WakeSignal();
  #current: CurrentCertificate | undefined;
  #jitter = 0;
  #rotation: RenewalState['rotation'];
  #isRefused = false;
  #problem: string | undefined;

  constructor(ports: CertificatePorts, parts: CertificateKeeperParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  get current(): { readonly serial: number; readonly expiresAtMs: number } | undefined {
    return this.#current === undefined ? undefined : { serial: this.#current.serial, expiresAtMs: this.#current.toMs };
  }

  get problems(): readonly string[] {
    return this.#problem === undefined ? [] : [this.#problem];
  }

  /** Shows what was kept for this credential; another one's certificate would be refused. */
  async load(token: string | undefined): Promise<void> {
    if (this.#ports.link.certificates === undefined) return;
    for (const held of await this.#parts.store.readCertificates()) {
      const validity = held.token === token ? this.#validityOf(held) : undefined;
      if (validity === undefined) continue;
      this.#present({ ...held, ...validity });
      return;
    }
  }

  /** A request for a new key; undefined when this server must not get a request for a certificate. */
  createRequest(server: string): PendingCertificateRequest | undefined {
    const { link } = this.#ports;
    if (link.certificates === undefined || !link.isAuthenticated(server)) return undefined;
    const key = newCertificateKey();
    return { key, request: createCertificateRequest(key.privateKey, REQUEST_NAME) };
  }

  /** Writes down what was issued. False when it is of no use. Rejects with `DiskFailed`. */
  async store(
    token: string,
    { key }: PendingCertificateRequest,
    { certificate, serial }: IssuedCertificate,
  ): Promise<boolean> {
    const { clock, log } = this.#ports;
    const held = { token, key: key.pem, certificate, serial, receivedAtMs: clock.nowMs() };
    const validity = this.#validityOf(held);
    if (validity === undefined) {
      log.warn(
        { serial },
        `a server answered with a certificate that is not of the key of this ${this.#parts.program}`,
      );
      return false;
    }
    await this.#parts.store.writeCertificate(held);
    this.#present({ ...held, ...validity });
    log.info(
      { serial, expiresAt: new Date(validity.toMs).toISOString() },
      `this ${this.#parts.program} has a new certificate`,
    );
    return true;
  }

  /** The keys of the control plane, each time that a server names them. One that was not given the newest yet says nothing new. */
  noteRotation(serial: number | undefined): void {
    if (serial === undefined || serial <= (this.#rotation?.serial ?? 0)) return;
    this.#rotation = { serial, learntAtMs: this.#ports.clock.nowMs() };
    this.#wakeSignal.notify();
  }

  /** A server does not accept the certificate that was shown, or requires one. */
  onRefused(): void {
    this.#isRefused = true;
    this.#wakeSignal.notify();
  }

  /** A server took what was shown. */
  onAccepted(): void {
    this.#isRefused = false;
  }

  /** Requests certificates until `signal` is aborted. */
  async run(requester: () => CertificateRequester | undefined, signal: AbortSignal): Promise<void> {
    if (this.#ports.link.certificates === undefined) return;
    const { clock } = this.#ports;
    const backoff = new Backoff(this.#ports, BACKOFF_MAX_MS);
    while (!signal.aborted) {
      const waitMs = this.#waitMs();
      if (waitMs > 0) {
        await this.#wakeSignal.wait(signal, { clock, ms: Math.min(waitMs, RECHECK_MS) });
        continue;
      }
      const isBlocked = this.#isRefused;
      const outcome = await this.#renew(requester());
      // One that is refused again right after it was renewed must not be renewed again and again; nor one of a server that was not given the
      // newest keys yet.
      if (outcome === 'renewed' && !isBlocked && !this.#isOfFormerKeys()) backoff.reset();
      else if (outcome === 'not-issued' && !isBlocked)
        await this.#wakeSignal.wait(signal, { clock, ms: NOT_ISSUED_RETRY_MS });
      else await backoff.wait(signal);
    }
  }

  #isOfFormerKeys(): boolean {
    return this.#rotation !== undefined && (this.#current?.serial ?? 0) < this.#rotation.serial;
  }

  #waitMs(): number {
    const { clock, link } = this.#ports;
    if (!link.isAuthenticated(this.#parts.leader.server)) return RECHECK_MS;
    const nowMs = clock.nowMs();
    const state = {
      current: this.#current,
      rotation: this.#rotation,
      isRefused: this.#isRefused,
      jitter: this.#jitter,
    };
    return renewalAtMs(state, nowMs) - nowMs;
  }

  async #renew(requester: CertificateRequester | undefined): Promise<'renewed' | 'not-issued' | 'failed'> {
    const { link } = this.#ports;
    if (requester === undefined) return 'failed';
    const pending: { requested?: PendingCertificateRequest } = {};
    const said = await this.#parts.leader.call(requester.credential, async (to) => {
      const requested = this.createRequest(to.server);
      if (requested === undefined || link.certificates === undefined) return NOT_AUTHENTICATED;
      pending.requested = requested;
      return link.certificates.renew(to, { certificateRequest: requested.request });
    });
    if (said.kind === 'refused') return this.#reportRefusal(said);
    if (said.kind !== 'answer' || pending.requested === undefined) return 'failed';
    try {
      if (!(await this.store(requester.token, pending.requested, said.answer))) return 'failed';
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#problem = error.message;
      return 'failed';
    }
    this.#isRefused = false;
    return 'renewed';
  }

  #reportRefusal({ code, message }: { readonly code: string; readonly message: string }): 'not-issued' {
    const problem = `No certificate for this ${this.#parts.program} (${code}): ${message}`;
    if (this.#problem !== problem) this.#ports.log.warn({ code }, problem);
    // Without certificates everywhere there is nothing wrong here.
    this.#problem = this.#current === undefined && !this.#isRefused ? undefined : problem;
    return 'not-issued';
  }

  #present(held: CurrentCertificate): void {
    this.#current = held;
    this.#jitter = this.#ports.random();
    this.#problem = undefined;
    this.#ports.link.certificates?.present(held);
  }

  #validityOf({ certificate, key }: StoredCertificate): Validity | undefined {
    try {
      const read = new X509Certificate(certificate);
      return isKeyOf(read, key) ? validityOf(read) : undefined;
    } catch (error) {
      // OpenSSL throws plain errors with words of its own for what is no certificate or no key.
      this.#ports.log.warn(
        { reason: (error as Error).message },
        `the certificate of this ${this.#parts.program} cannot be used`,
      );
      return undefined;
    }
  }
}

const NOT_AUTHENTICATED = {
  kind: 'refused',
  code: 'not-authenticated',
  message: 'This server is reached by plain HTTP, where no certificate is issued. Use https in --server.',
} as const;
