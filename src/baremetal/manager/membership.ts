// Who this manager is: with the token that it was given, or with a credential of its own that it gets for a join token, once. Its secret is on disk before it
// is sent: a lost answer never leaves a manager without a credential.
import { secretText, tokenIdIn } from '../../access/index.ts';
import type { Clock, Ids } from '../../journal/index.ts';
import {
  Backoff,
  type CertificateKeeper,
  type CertificateRequester,
  type LeaderClient,
  type PendingCertificateRequest,
  type Reply,
  type CallTarget,
} from '../../link/index.ts';
import type { Log } from '../../operations/index.ts';
import type { ManagerJoinRequest, ManagerJoinResponse } from './join-messages.ts';
import type { ManagerIdentity } from './manager-state-store.ts';

export interface ManagerMembershipPorts {
  readonly link: {
    join(to: CallTarget, manager: string, request: ManagerJoinRequest): Promise<Reply<ManagerJoinResponse>>;
  };
  readonly store: {
    readIdentity(): Promise<ManagerIdentity>;
    writeIdentity(identity: ManagerIdentity): Promise<void>;
  };
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'secret'>;
  readonly random: () => number;
  readonly log: Log;
}

export interface ManagerMembershipParts {
  readonly manager: string;
  readonly leader: LeaderClient;
  readonly certificates: CertificateKeeper;
  /** Read whenever one is needed: a file may have been replaced. */
  readonly joinToken: () => Promise<string | undefined>;
}

const NO_JOIN_TOKEN =
  'This manager has no credential and no join token, or it has not the form of one. Make one with "muster baremetal managers join-token <name>", and start it with MUSTER_JOIN_TOKEN or --join-token-file.';

const RETRY_MAX_MS = 30_000;

export class ManagerMembership {
  readonly #ports: ManagerMembershipPorts;
  readonly #parts: ManagerMembershipParts;
  #identity: ManagerIdentity = {};
  /** Each refusal is logged once. */
  #refusal: string | undefined;

  constructor(ports: ManagerMembershipPorts, parts: ManagerMembershipParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /** Undefined until it has joined. */
  credential(): string | undefined {
    const { current } = this.#identity;
    return current === undefined ? undefined : secretText(current.token, current.secret);
  }

  requester(): CertificateRequester | undefined {
    return requesterOf(this.credential());
  }

  /** Until it has a credential, or `signal` is aborted. A new join token replaces the credential, if a server takes it. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, log } = this.#ports;
    this.#identity = await store.readIdentity();
    // The folder of another manager: its credential would be refused with every call.
    if (this.#identity.current !== undefined && this.#identity.current.manager !== this.#parts.manager) {
      log.warn({ manager: this.#identity.current.manager }, 'the state folder is of another manager: this one joins');
      this.#identity = {};
    }
    const backoff = new Backoff(this.#ports, RETRY_MAX_MS);
    while (!signal.aborted && !(await this.#ensureJoined())) await backoff.wait(signal);
  }

  async #ensureJoined(): Promise<boolean> {
    const { current } = this.#identity;
    const joinToken = await this.#parts.joinToken();
    const id = joinToken === undefined ? undefined : tokenIdIn(joinToken);
    if (joinToken === undefined || id === undefined || id === current?.joinToken) {
      if (current !== undefined) return true;
      this.#reportRefusal('no-join-token', NO_JOIN_TOKEN);
      return false;
    }
    const joined = await this.#join(joinToken, id);
    // What it has may be good still: the join token was used before, or has expired.
    return joined === 'joined' || (joined === 'refused' && current !== undefined);
  }

  async #join(joinToken: string, id: string): Promise<'joined' | 'refused' | 'away'> {
    const { link, ids, log } = this.#ports;
    const { manager, leader, certificates } = this.#parts;
    const { pending } = this.#identity;
    const secret = pending?.joinToken === id ? pending.secret : ids.secret();
    if (pending?.joinToken !== id) await this.#save({ ...this.#identity, pending: { joinToken: id, secret } });
    let requested: PendingCertificateRequest | undefined;
    const said = await leader.call(joinToken, (to) => {
      requested = certificates.createRequest(to.server);
      return link.join(to, manager, {
        secret,
        ...(requested !== undefined && { certificateRequest: requested.request }),
      });
    });
    if (said.kind === 'refused') this.#reportRefusal(said.code, said.message);
    if (said.kind !== 'answer') return said.kind;
    const { token, certificate } = said.answer;
    // Before the credential: a server may insist on a certificate, and after a crash the join is repeated.
    if (requested !== undefined && certificate !== undefined) await certificates.store(token, requested, certificate);
    await this.#save({ current: { manager, token, secret, joinToken: id } });
    log.info({ manager }, 'joined as a manager');
    return 'joined';
  }

  async #save(identity: ManagerIdentity): Promise<void> {
    await this.#ports.store.writeIdentity(identity);
    this.#identity = identity;
  }

  #reportRefusal(code: string, message: string): void {
    if (this.#refusal !== code) this.#ports.log.warn({ code }, message);
    this.#refusal = code;
  }
}

/** Whoever requests a certificate with this credential. */
export function requesterOf(credential: string | undefined): CertificateRequester | undefined {
  const token = credential === undefined ? undefined : tokenIdIn(credential);
  return credential === undefined || token === undefined ? undefined : { token, credential };
}
