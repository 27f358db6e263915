// Who this agent is: it joins with a join token, keeps its credential, and joins anew when its credential is
// refused and it has another join token. Its secret is on disk before it is sent: a lost answer never leaves a host without a credential.
import { secretText, tokenIdIn } from '../../access/index.ts';
import { Departure, REMOVED, type MembershipRefusal } from './departure.ts';
import { OriginCheck, type ServerRefusal } from './origin-check.ts';
import { trustAtJoin, updateTrust, type Trust, type ViewAuthenticity } from './trust.ts';
import {
  Backoff,
  DiskFailed,
  isCertificateRefusal,
  type CertificateKeeper,
  type CertificateRequester,
  type LeaderClient,
  type PendingCertificateRequest,
  type SignedText,
} from '../../link/index.ts';
import type { MembershipState, AgentStateStore } from './state/agent-state-store.ts';
import type { ViewResponse } from '../protocol/messages.ts';
import type { AgentPorts } from './ports.ts';

export interface MembershipOptions {
  /** The host it believes to be; undefined to take what the join token says. */
  readonly name?: string | undefined;
  /** Read whenever one is needed: a file may have been replaced. */
  readonly joinToken: () => Promise<string | undefined>;
}

const NO_JOIN_TOKEN =
  'This agent has no join token, or it has not the form of one. Make one with "muster hosts join-token <host>", and start it with MUSTER_JOIN_TOKEN or --join-token-file.';

const NO_KEY =
  'This server has no signing key: over plain HTTP this agent does not believe it when it says that the host was removed or has to leave. Use HTTPS, or start the server with --keys.';

/** How servers refuse a join with a certificate request: one of an older version does not know the field. */
const REQUEST_REFUSED: readonly string[] = ['malformed-body', 'malformed-certificate-request'];

type CurrentCredential = NonNullable<MembershipState['current']>;

export interface MembershipParts {
  readonly leader: LeaderClient;
  readonly store: AgentStateStore;
  readonly certificates: CertificateKeeper;
}

export class Membership {
  readonly #ports: AgentPorts;
  readonly #options: MembershipOptions;
  readonly #leader: LeaderClient;
  readonly #store: AgentStateStore;
  #identity: MembershipState = {};
  #isUnconfirmed = false;
  #refusal: MembershipRefusal | undefined;
  /** Whether what comes is of the control plane. */
  readonly #origin: OriginCheck;
  readonly #certificates: CertificateKeeper;
  /** A server did not understand the certificate request: this agent joins without, and requests a certificate later. */
  #omitsCertificateRequest = false;
  /** How it leaves. */
  readonly departure: Departure;

  constructor(ports: AgentPorts, options: MembershipOptions, parts: MembershipParts) {
    this.#ports = ports;
    this.#options = options;
    this.#leader = parts.leader;
    this.#store = parts.store;
    this.#certificates = parts.certificates;
    this.#origin = new OriginCheck(ports, () => this.#identity.current);
    this.departure = new Departure({
      identity: () => this.#identity,
      save: (identity) => this.#save(identity),
      reportRefusal: (refusal) => this.#reportRefusal(refusal),
    });
  }

  get current(): CurrentCredential | undefined {
    return this.#identity.current;
  }

  /** The keys and servers that this agent believes in. */
  get trust(): Trust | undefined {
    return this.#identity.current?.trust;
  }

  /** What has reached this agent without proof that it is of the control plane; reported until something proven comes. */
  get problems(): readonly string[] {
    return this.#origin.problems;
  }

  get refusal(): MembershipRefusal | undefined {
    return this.#refusal;
  }

  /** Its identity is of a copy. Where an older agent was at work, it may have left since: only a server knows. */
  get isUnconfirmed(): boolean {
    return this.#isUnconfirmed;
  }

  /** A server has sent this host its view: it is one of the fleet, as who it believes to be. Rejects with `DiskFailed`. */
  async confirmIdentity(): Promise<void> {
    if (!this.#isUnconfirmed) return;
    await this.#save(this.#identity);
    this.#isUnconfirmed = false;
  }

  /** What is shown to servers; undefined before the host has joined. */
  credential(): string | undefined {
    const { current } = this.#identity;
    return current === undefined ? undefined : secretText(current.token, current.secret);
  }

  /** Who requests a certificate; undefined before the host has joined. */
  certificateRequester(): CertificateRequester | undefined {
    const { current } = this.#identity;
    return current && { token: current.token, credential: secretText(current.token, current.secret) };
  }

  async load(): Promise<void> {
    const { identity, isRestored } = await this.#store.readIdentity();
    this.#identity = identity;
    this.#isUnconfirmed = isRestored;
    const host = this.#identity.current?.host;
    const { name } = this.#options;
    if (host !== undefined && name !== undefined && host !== name)
      throw new Error(`this agent's data belongs to host "${host}", not to "${name}": give it a folder of its own`);
    if (this.departure.hasLeft) this.departure.reportWhyLeft();
    await this.#certificates.load(this.#identity.current?.token);
    this.#certificates.noteRotation(this.trust?.serial);
  }

  /** What it left by is known to the servers when they refuse it, and that is proven. */
  async completeLeaveOnRefusal(refusal: ServerRefusal): Promise<boolean> {
    return (
      !isCertificateRefusal(refusal.code) && this.#origin.isRefusalProven(refusal) && (await this.departure.complete())
    );
  }

  /** Joins unless it has. Ends when it is in, or when `signal` is aborted. */
  async join(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#ports);
    while ((this.#identity.current === undefined || this.departure.hasLeft) && !signal.aborted) {
      if (!(await this.#tryJoin())) await backoff.wait(signal);
    }
  }

  /** Takes on the keys and servers that the control plane names, when they are proven to be of it. */
  async updateTrust(controlPlane: SignedText | undefined, via: string): Promise<void> {
    const { current } = this.#identity;
    if (current === undefined) return;
    const trust = updateTrust(current.trust, controlPlane, this.#origin.provenanceOf(via));
    if (trust === undefined || trust === current.trust) return;
    this.#certificates.noteRotation(trust.serial);
    try {
      await this.#save({ ...this.#identity, current: { ...current, trust } });
      const { serial, servers } = trust;
      this.#ports.log.info({ serial, servers }, 'keys or servers of the control plane changed');
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#reportRefusal({ code: error.code, message: error.message });
    }
  }

  /** Whether a view is of the control plane; says so when it is not, or when that is unknown. */
  authenticateView(answer: Extract<ViewResponse, { kind: 'view' }>, via: string): ViewAuthenticity {
    return this.#origin.authenticateView(answer, via);
  }

  onAccepted(): void {
    this.#refusal = undefined;
    this.#certificates.onAccepted();
    this.departure.clearRemoved();
  }

  /** The credential was refused. Only another join token than the one it came of can mend that. */
  async onRefused(why: ServerRefusal): Promise<void> {
    const isCertificate = isCertificateRefusal(why.code);
    const isProven = this.#origin.isRefusalProven(why);
    if (isProven && !isCertificate && (await this.departure.complete())) return;
    this.#reportRefusal(why);
    if (isCertificate) this.#certificates.onRefused();
    if (why.code === REMOVED.code) {
      if (!isProven) this.#origin.reportRemoval(why.via);
      else if (await this.departure.leaveRemoved()) return;
    }
    const joinToken = await this.#options.joinToken();
    if (joinToken === undefined || tokenIdIn(joinToken) === this.#identity.current?.joinToken) return;
    await this.#tryJoin();
  }

  async #tryJoin(): Promise<boolean> {
    const joinToken = await this.#options.joinToken();
    const id = joinToken === undefined ? undefined : tokenIdIn(joinToken);
    if (joinToken === undefined || id === undefined) {
      if (!this.departure.hasLeft) this.#reportRefusal({ code: 'no-join-token', message: NO_JOIN_TOKEN });
      return false;
    }
    // A host that has left is quiet: the token that it came with once is no reason to come again.
    if (this.departure.hasLeft && id === this.#identity.current?.joinToken) return false;
    try {
      return await this.#joinWith(joinToken, id);
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#reportRefusal({ code: error.code, message: error.message });
      return false;
    }
  }

  async #joinWith(joinToken: string, id: string): Promise<boolean> {
    const { link, ids, log } = this.#ports;
    const { pending } = this.#identity;
    const secret = pending?.joinToken === id ? pending.secret : ids.secret();
    if (pending?.joinToken !== id) await this.#save({ ...this.#identity, pending: { joinToken: id, secret } });
    const { name } = this.#options;
    const join = { secret, ...(name !== undefined && { host: name }) };
    let requested: PendingCertificateRequest | undefined;
    const said = await this.#leader.call(joinToken, (to) => {
      requested = this.#omitsCertificateRequest ? undefined : this.#certificates.createRequest(to.server);
      return link.join(to, { ...join, ...(requested !== undefined && { certificateRequest: requested.request }) });
    });
    if (said.kind === 'refused') {
      this.#omitsCertificateRequest = requested !== undefined && REQUEST_REFUSED.includes(said.code);
      this.#reportRefusal(said);
    }
    if (said.kind !== 'answer') return false;
    const { host, token, controlPlane, certificate } = said.answer;
    const trust = trustAtJoin(controlPlane);
    // Before the credential: a server may insist on a certificate, and after a crash the join is repeated.
    if (requested !== undefined && certificate !== undefined)
      await this.#certificates.store(token, requested, certificate);
    this.#isUnconfirmed = false;
    await this.#save({
      current: { host, token, secret, joinToken: id, ...(trust !== undefined && { trust }) },
    });
    this.#certificates.noteRotation(trust?.serial);
    if (trust === undefined) log.warn({ server: said.via }, NO_KEY);
    this.#refusal = undefined;
    this.#origin.clear();
    this.departure.clearRemoved();
    log.info({ host }, 'joined the fleet');
    return true;
  }

  async #save(identity: MembershipState): Promise<void> {
    await this.#store.writeIdentity(identity);
    this.#identity = identity;
  }

  #reportRefusal({ code, message }: MembershipRefusal): void {
    if (this.#refusal?.code !== code) this.#ports.log.warn({ code }, message);
    this.#refusal = { code, message };
  }
}
