// Who this agent is: it joins with a join token, keeps its credential, and joins anew when it is refused and somebody
// gave it another token. Its secret is on disk before it is sent: a lost answer never leaves a host without a credential.
import { secretText, tokenIdIn } from '../../access/index.ts';
import { mark } from '../../fleet/index.ts';
import type { CertificateRequester, CertificateKeeper, PendingCertificateRequest } from './certificate-keeper.ts';
import { isCertificateRefusal } from '../protocol/certificate-refusals.ts';
import { trustAtJoin, isRefusalAuthentic, isViewAuthentic, updateTrust, type Trust, type Provenance } from './trust.ts';
import { digestOf } from '../protocol/digest.ts';
import { type LeaderClient, Backoff, type SignedText } from '../../link/index.ts';
import type { MembershipState, AgentStateStore } from './state/agent-state-store.ts';
import type { ViewResponse } from '../protocol/messages.ts';
import { DiskFailed, type AgentPorts } from './ports.ts';

export interface MembershipOptions {
  /** The host it believes to be; undefined to take what the join token says. */
  readonly name?: string | undefined;
  /** Asked for whenever one is needed: a file may have been replaced. */
  readonly joinToken: () => Promise<string | undefined>;
}

/** Why the servers will not have this agent, in their words. */
export interface MembershipRefusal {
  readonly code: string;
  readonly message: string;
}

const LEAVE_REFUSAL: MembershipRefusal = {
  code: 'told-to-leave',
  message:
    'This host was told to leave the fleet and has left. It is quiet until it is joined again: "muster hosts join", and a token of "muster hosts join-token".',
};

/** It was not connected when it was removed: it learns of that when it is refused. Its code is what servers say. */
const REMOVED: MembershipRefusal = {
  code: 'host-removed',
  message:
    'This host was removed from the fleet, and its switch is wiped. It is quiet until it is joined again: "muster hosts join", and a token of "muster hosts join-token".',
};

const NO_JOIN_TOKEN =
  'This agent has no join token, or it has not the form of one. Make one with "muster hosts join-token <host>", and start it with MUSTER_JOIN_TOKEN or --join-token-file.';

const NO_KEY =
  'This server has no signing key: over plain HTTP this agent does not believe it when it says that the host was removed. Use HTTPS, or start the server with --keys.';

/** How servers refuse a join with a certificate request: one of an older version does not know the field. */
const REQUEST_REFUSED: readonly string[] = ['malformed-body', 'malformed-certificate-request'];

/** A refusal and the server that it came from. */
export interface ServerRefusal extends MembershipRefusal {
  readonly statement?: SignedText | undefined;
  readonly via: string;
}

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
  /** How often the machine is being wiped; whether that works out is not known yet. One that is told again wipes it again. */
  #wipesInProgress = 0;
  /** The servers say that it was removed; it is not wiped yet. */
  #isRemoved = false;
  #unauthenticated: string | undefined;
  readonly #certificates: CertificateKeeper;
  /** A server did not understand the certificate request: this agent joins without, and asks for a certificate later. */
  #omitsCertificateRequest = false;
  /** Called when the host was removed behind its back: wipes the machine. True when nothing of the fleet is left on it. */
  onRemoved: () => Promise<boolean> = () => Promise.resolve(false);
  /** Called when the host has left. */
  onLeft: () => void = () => undefined;
  /** Called when it was not wiped after all, or only in part. */
  onLeaveReverted: () => void = () => undefined;

  constructor(ports: AgentPorts, options: MembershipOptions, parts: MembershipParts) {
    this.#ports = ports;
    this.#options = options;
    this.#leader = parts.leader;
    this.#store = parts.store;
    this.#certificates = parts.certificates;
  }

  get current(): CurrentCredential | undefined {
    return this.#identity.current;
  }

  /** The keys and servers that this agent believes in. */
  get trust(): Trust | undefined {
    return this.#identity.current?.trust;
  }

  /** What has reached this agent without proof that it is of the control plane; told until a proven word comes. */
  get problems(): readonly string[] {
    return this.#unauthenticated === undefined ? [] : [this.#unauthenticated];
  }

  get refusal(): MembershipRefusal | undefined {
    return this.#refusal;
  }

  /** Its identity is of a copy. Where an older agent was at work, it may have left since: only a server can tell. */
  get isUnconfirmed(): boolean {
    return this.#isUnconfirmed;
  }

  /** A server has sent this host its view: it is one of the fleet, as who it believes to be. Rejects with `DiskFailed`. */
  async confirmIdentity(): Promise<void> {
    if (!this.#isUnconfirmed) return;
    await this.#save(this.#identity);
    this.#isUnconfirmed = false;
  }

  /** It was told to leave: nothing is brought about on this machine any more. */
  get isLeaving(): boolean {
    return this.#wipesInProgress > 0 || this.#isRemoved || this.#identity.leaving !== undefined;
  }

  get #hasLeft(): boolean {
    return this.#identity.left === true;
  }

  /** The task by which it is leaving, until the server has said what it makes of that. */
  get leaveTask(): string | undefined {
    return this.#hasLeft ? undefined : this.#identity.leaving;
  }

  /** What is shown to servers; undefined before the host has joined. */
  credential(): string | undefined {
    const { current } = this.#identity;
    return current === undefined ? undefined : secretText(current.token, current.secret);
  }

  /** Who asks for a certificate; undefined before the host has joined. */
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
    if (this.#hasLeft) this.#reportWhyLeft();
    await this.#certificates.load(this.#identity.current?.token);
    this.#certificates.noteRotation(this.trust?.serial);
  }

  #reportWhyLeft(): void {
    this.#reportRefusal(this.#identity.leaving === REMOVED.code ? REMOVED : LEAVE_REFUSAL);
  }

  /** The machine is wiped from now on; `stay` when that failed. */
  beginWipe(): void {
    this.#wipesInProgress += 1;
  }

  abandonWipe(): void {
    this.#wipesInProgress -= 1;
    this.onLeaveReverted();
  }

  /** The machine is wiped. Written down before the server is told: after a crash nothing may be built there again. */
  async recordWiped(task: string): Promise<void> {
    await this.#save({ ...this.#identity, leaving: task });
    this.#wipesInProgress -= 1;
  }

  /** The server knows, or does not accept this host any more. True when this was what it left by. */
  async completeLeave(task?: string): Promise<boolean> {
    const { leaving } = this.#identity;
    if (leaving === undefined || (task !== undefined && task !== leaving)) return false;
    try {
      if (!this.#hasLeft) await this.#save({ ...this.#identity, left: true });
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#reportRefusal({ code: error.code, message: error.message });
      return false;
    }
    this.#reportWhyLeft();
    this.onLeft();
    return true;
  }

  /** The same, by a refusal: it counts when it is proven. */
  async completeLeaveOnRefusal(refusal: ServerRefusal): Promise<boolean> {
    return !isCertificateRefusal(refusal.code) && this.#isRefusalProven(refusal) && (await this.completeLeave());
  }

  /** It is tried again with the next refusal. Until then nothing is brought about on the machine, and it is not put back either. */
  async #leaveRemoved(): Promise<boolean> {
    this.#isRemoved = true;
    if (this.#wipesInProgress > 0 || !(await this.onRemoved())) return false;
    try {
      await this.#save({ ...this.#identity, leaving: REMOVED.code, left: true });
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#reportRefusal({ code: error.code, message: error.message });
      return false;
    }
    return this.completeLeave();
  }

  /** It is one of the fleet: what was said of its removal is over. */
  #clearRemoved(): void {
    if (!this.#isRemoved) return;
    this.#isRemoved = false;
    this.onLeaveReverted();
  }

  /** It was brought back before the server had the report that it is wiped: it is in the fleet as before. False when it is not yet. */
  async revertLeave(): Promise<boolean> {
    // Told to leave once more meanwhile: nothing is put back on a machine that is being wiped.
    if (this.#wipesInProgress > 0) return false;
    mark('leave-reverted');
    const { leaving: _, ...identity } = this.#identity;
    try {
      await this.#save(identity);
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#reportRefusal({ code: error.code, message: error.message });
      return false;
    }
    this.onLeaveReverted();
    return true;
  }

  /** Joins unless it has. Ends when it is in, or when `signal` is aborted. */
  async join(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#ports);
    while ((this.#identity.current === undefined || this.#hasLeft) && !signal.aborted) {
      if (!(await this.#tryJoin())) await backoff.wait(signal);
    }
  }

  /** Takes on the keys and servers that the control plane names, when they are proven to be of it. */
  async updateTrust(controlPlane: SignedText | undefined, via: string): Promise<void> {
    const { current } = this.#identity;
    if (current === undefined) return;
    const { verify, log } = this.#ports;
    const trust = updateTrust(current.trust, controlPlane, {
      isAuthenticated: this.#ports.link.isAuthenticated(via),
      verify,
    });
    if (trust === undefined || trust === current.trust) return;
    this.#certificates.noteRotation(trust.serial);
    try {
      await this.#save({ ...this.#identity, current: { ...current, trust } });
      log.info({ serial: trust.serial, servers: trust.servers }, 'keys or servers of the control plane changed');
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#reportRefusal({ code: error.code, message: error.message });
    }
  }

  /** Whether a view is of the control plane; says so when it is not. */
  isAuthentic({ view, statement }: Extract<ViewResponse, { kind: 'view' }>, via: string): boolean {
    const { current } = this.#identity;
    if (current === undefined) return false;
    const isAuthentic = isViewAuthentic(current.trust, {
      ...this.#provenanceOf(via),
      token: current.token,
      signed: statement,
      view,
      digest: () => digestOf({ host: view.host, parts: view.parts, tasks: view.tasks }),
    });
    if (isAuthentic) this.#unauthenticated = undefined;
    else this.#reportUnauthenticated('view-not-authentic', via, 'a view');
    return isAuthentic;
  }

  #provenanceOf(via: string): Provenance {
    const { link, verify } = this.#ports;
    return { isAuthenticated: link.isAuthenticated(via), verify };
  }

  #isRefusalProven({ code, statement, via }: ServerRefusal): boolean {
    const { current } = this.#identity;
    if (current === undefined) return false;
    const { host, token, trust } = current;
    return isRefusalAuthentic(trust, { ...this.#provenanceOf(via), host, token, code, signed: statement });
  }

  #reportUnauthenticated(code: string, via: string, what: string): void {
    const message = `${via} sent ${what} without proof that it is of the control plane. This host goes on with its last view. Use HTTPS, or join it again.`;
    if (this.#unauthenticated !== message) this.#ports.log.warn({ code, server: via }, message);
    this.#unauthenticated = message;
  }

  onAccepted(): void {
    this.#refusal = undefined;
    this.#certificates.onAccepted();
    this.#clearRemoved();
  }

  /** The credential was refused. Only another join token than the one it came of can mend that. */
  async onRefused(why: ServerRefusal): Promise<void> {
    const isCertificate = isCertificateRefusal(why.code);
    const isProven = this.#isRefusalProven(why);
    if (isProven && !isCertificate && (await this.completeLeave())) return;
    this.#reportRefusal(why);
    if (isCertificate) this.#certificates.onRefused();
    if (why.code === REMOVED.code) {
      if (!isProven) this.#reportUnauthenticated('removal-not-authentic', why.via, 'word that this host was removed');
      else if (await this.#leaveRemoved()) return;
    }
    const joinToken = await this.#options.joinToken();
    if (joinToken === undefined || tokenIdIn(joinToken) === this.#identity.current?.joinToken) return;
    await this.#tryJoin();
  }

  async #tryJoin(): Promise<boolean> {
    const joinToken = await this.#options.joinToken();
    const id = joinToken === undefined ? undefined : tokenIdIn(joinToken);
    if (joinToken === undefined || id === undefined) {
      if (!this.#hasLeft) this.#reportRefusal({ code: 'no-join-token', message: NO_JOIN_TOKEN });
      return false;
    }
    // A host that has left is quiet: the token that it came with once is no reason to come again.
    if (this.#hasLeft && id === this.#identity.current?.joinToken) return false;
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
    this.#unauthenticated = undefined;
    this.#clearRemoved();
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
