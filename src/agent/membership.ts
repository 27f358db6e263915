// Who this agent is: it joins with a join token, keeps its credential, and joins anew when it is refused and somebody
// gave it another token. Its secret is on disk before it is sent: a lost answer never leaves a host without a credential.
import { secretText, tokenIdIn } from '../access/index.ts';
import { mark } from '../fleet/index.ts';
import type { Asker, CertificateKeeper, Requested } from './certificate-keeper.ts';
import { isCertificateRefusal } from './certificate-refusals.ts';
import { trustAtJoin, isRefusalAuthentic, isViewAuthentic, learnTrust, type Trust, type Received } from './trust.ts';
import { digestOf } from './digest.ts';
import type { Line } from './line.ts';
import type { Identity, Memory } from './memory.ts';
import type { ViewAnswer } from './messages.ts';
import { Pace } from './pace.ts';
import { DiskFailed, type AgentPorts } from './ports.ts';
import type { Signed } from './statement.ts';

export interface MembershipOptions {
  /** The host it believes to be; undefined to take what the join token says. */
  readonly name?: string | undefined;
  /** Asked for whenever one is needed: a file may have been replaced. */
  readonly joinToken: () => Promise<string | undefined>;
}

/** Why the servers will not have this agent, in their words. */
export interface Unwelcome {
  readonly code: string;
  readonly message: string;
}

const TOLD_TO_LEAVE: Unwelcome = {
  code: 'told-to-leave',
  message:
    'This host was told to leave the fleet and has left. It is quiet until it is joined again with a new join token.',
};

/** Nobody told it to leave while it was heard: it learns of it when it is refused. Its code is what servers say. */
const REMOVED: Unwelcome = {
  code: 'host-removed',
  message:
    'This host was removed from the fleet, and its switch is wiped. It is quiet until it is joined again with a new join token.',
};

const NO_JOIN_TOKEN =
  'This agent has no join token, or it has not the form of one. Make one with "muster hosts join-token <host>", and start it with MUSTER_JOIN_TOKEN or --join-token-file.';

const NO_KEY = 'This server has no signing key: over plain HTTP, word that this host was removed will not be believed.';

/** How servers refuse a join with a certificate request: one of an older version does not know the field. */
const REQUEST_REFUSED: readonly string[] = ['malformed-body', 'malformed-certificate-request'];

/** A refusal and the server that it came from. */
export interface RefusedBy extends Unwelcome {
  readonly statement?: Signed | undefined;
  readonly via: string;
}

type Current = NonNullable<Identity['current']>;

export interface MembershipParts {
  readonly line: Line;
  readonly memory: Memory;
  readonly certificates: CertificateKeeper;
}

export class Membership {
  readonly #ports: AgentPorts;
  readonly #options: MembershipOptions;
  readonly #line: Line;
  readonly #memory: Memory;
  #identity: Identity = {};
  #unwelcome: Unwelcome | undefined;
  /** How often the machine is being wiped; whether that works out is not known yet. One that is told again wipes it again. */
  #wipes = 0;
  /** The servers say that it was removed; it is not wiped yet. */
  #removed = false;
  #unproven: string | undefined;
  readonly #certificates: CertificateKeeper;
  /** A server did not understand the certificate request: this agent joins without, and asks for a certificate later. */
  #joinsWithoutRequest = false;
  /** Called when the host was removed behind its back: wipes the machine. True when nothing of the fleet is left on it. */
  onRemoved: () => Promise<boolean> = () => Promise.resolve(false);
  /** Called when the host has left. */
  onLeft: () => void = () => undefined;
  /** Called when it was not wiped after all, or only in part. */
  onStay: () => void = () => undefined;

  constructor(ports: AgentPorts, options: MembershipOptions, parts: MembershipParts) {
    this.#ports = ports;
    this.#options = options;
    this.#line = parts.line;
    this.#memory = parts.memory;
    this.#certificates = parts.certificates;
  }

  get current(): Current | undefined {
    return this.#identity.current;
  }

  /** The keys and servers that this agent believes in. */
  get trust(): Trust | undefined {
    return this.#identity.current?.trust;
  }

  /** What has reached this agent without proof that it is of the control plane; told until a proven word comes. */
  get problems(): readonly string[] {
    return this.#unproven === undefined ? [] : [this.#unproven];
  }

  get unwelcome(): Unwelcome | undefined {
    return this.#unwelcome;
  }

  /** It was told to leave: nothing is brought about on this machine any more. */
  get isLeaving(): boolean {
    return this.#wipes > 0 || this.#removed || this.#identity.leaving !== undefined;
  }

  get #hasLeft(): boolean {
    return this.#identity.left === true;
  }

  /** The task by which it is leaving, until the server has said what it makes of that. */
  get leavingBy(): string | undefined {
    return this.#hasLeft ? undefined : this.#identity.leaving;
  }

  /** What is shown to servers; undefined before the host has joined. */
  credential(): string | undefined {
    const { current } = this.#identity;
    return current === undefined ? undefined : secretText(current.token, current.secret);
  }

  /** Who asks for a certificate; undefined before the host has joined. */
  asker(): Asker | undefined {
    const { current } = this.#identity;
    return current && { token: current.token, credential: secretText(current.token, current.secret) };
  }

  async load(): Promise<void> {
    this.#identity = await this.#memory.identity();
    const host = this.#identity.current?.host;
    const { name } = this.#options;
    if (host !== undefined && name !== undefined && host !== name)
      throw new Error(`this agent's data belongs to host "${host}", not to "${name}": give it a folder of its own`);
    if (this.#hasLeft) this.#sayWhyLeft();
    await this.#certificates.load(this.#identity.current?.token);
    this.#certificates.learn(this.trust?.serial);
  }

  #sayWhyLeft(): void {
    this.#say(this.#identity.leaving === REMOVED.code ? REMOVED : TOLD_TO_LEAVE);
  }

  /** The machine is wiped from now on; `stay` when that failed. */
  beginToLeave(): void {
    this.#wipes += 1;
  }

  stay(): void {
    this.#wipes -= 1;
    this.onStay();
  }

  /** The machine is wiped. Written down before the server is told: after a crash nothing may be built there again. */
  async leave(task: string): Promise<void> {
    await this.#keep({ ...this.#identity, leaving: task });
    this.#wipes -= 1;
  }

  /** The server knows, or will not hear of this host any more. True when this was what it left by. */
  async left(task?: string): Promise<boolean> {
    const { leaving } = this.#identity;
    if (leaving === undefined || (task !== undefined && task !== leaving)) return false;
    try {
      if (!this.#hasLeft) await this.#keep({ ...this.#identity, left: true });
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#say({ code: error.code, message: error.message });
      return false;
    }
    this.#sayWhyLeft();
    this.onLeft();
    return true;
  }

  /** The same, by a refusal: it counts when it is proven. */
  async leftBy(refusal: RefusedBy): Promise<boolean> {
    return !isCertificateRefusal(refusal.code) && this.#isProven(refusal) && (await this.left());
  }

  /** It is tried again with the next refusal. Until then nothing is brought about on the machine, and it is not put back either. */
  async #leaveBecauseRemoved(): Promise<boolean> {
    this.#removed = true;
    if (this.#wipes > 0 || !(await this.onRemoved())) return false;
    try {
      await this.#keep({ ...this.#identity, leaving: REMOVED.code, left: true });
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#say({ code: error.code, message: error.message });
      return false;
    }
    return this.left();
  }

  /** It is one of the fleet: what was said of its removal is over. */
  #noLongerRemoved(): void {
    if (!this.#removed) return;
    this.#removed = false;
    this.onStay();
  }

  /** It was brought back before anybody heard that it is wiped: it is one of the fleet as before. False when it is not yet. */
  async stayAfterAll(): Promise<boolean> {
    // Told to leave once more meanwhile: nothing is put back on a machine that is being wiped.
    if (this.#wipes > 0) return false;
    mark('told-to-leave-and-stays');
    const { leaving: _, ...identity } = this.#identity;
    try {
      await this.#keep(identity);
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#say({ code: error.code, message: error.message });
      return false;
    }
    this.onStay();
    return true;
  }

  /** Joins unless it has. Ends when it is in, or when `signal` is aborted. */
  async join(signal: AbortSignal): Promise<void> {
    const pace = new Pace(this.#ports);
    while ((this.#identity.current === undefined || this.#hasLeft) && !signal.aborted) {
      if (!(await this.#tryJoin())) await pace.wait(signal);
    }
  }

  /** Takes on the keys and servers that the control plane names, when they are proven to be of it. */
  async learn(controlPlane: Signed | undefined, via: string): Promise<void> {
    const { current } = this.#identity;
    if (current === undefined) return;
    const { verify, log } = this.#ports;
    const trust = learnTrust(current.trust, controlPlane, {
      isAuthenticated: this.#ports.link.isAuthenticated(via),
      verify,
    });
    if (trust === undefined || trust === current.trust) return;
    this.#certificates.learn(trust.serial);
    try {
      await this.#keep({ ...this.#identity, current: { ...current, trust } });
      log.info({ serial: trust.serial, servers: trust.servers }, 'keys or servers of the control plane changed');
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#say({ code: error.code, message: error.message });
    }
  }

  /** Whether a view is of the control plane; says so when it is not. */
  isAuthentic({ view, statement }: Extract<ViewAnswer, { kind: 'view' }>, via: string): boolean {
    const { current } = this.#identity;
    if (current === undefined) return false;
    const isAuthentic = isViewAuthentic(current.trust, {
      ...this.#received(via),
      token: current.token,
      signed: statement,
      view,
      digest: () => digestOf({ host: view.host, parts: view.parts, tasks: view.tasks }),
    });
    if (isAuthentic) this.#unproven = undefined;
    else this.#sayUnproven('view-not-authentic', via, 'a view');
    return isAuthentic;
  }

  #received(via: string): Received {
    const { link, verify } = this.#ports;
    return { isAuthenticated: link.isAuthenticated(via), verify };
  }

  #isProven({ code, statement, via }: RefusedBy): boolean {
    const { current } = this.#identity;
    if (current === undefined) return false;
    const { host, token, trust } = current;
    return isRefusalAuthentic(trust, { ...this.#received(via), host, token, code, signed: statement });
  }

  #sayUnproven(code: string, via: string, what: string): void {
    const message = `${via} sent ${what} without proof that it is of the control plane. This host goes on with its last view. Use HTTPS, or join it again.`;
    if (this.#unproven !== message) this.#ports.log.warn({ code, server: via }, message);
    this.#unproven = message;
  }

  welcome(): void {
    this.#unwelcome = undefined;
    this.#certificates.accepted();
    this.#noLongerRemoved();
  }

  /** The credential was refused. Only another join token than the one it came of can mend that. */
  async refused(why: RefusedBy): Promise<void> {
    const isCertificate = isCertificateRefusal(why.code);
    const isProven = this.#isProven(why);
    if (isProven && !isCertificate && (await this.left())) return;
    this.#say(why);
    if (isCertificate) this.#certificates.refused();
    if (why.code === REMOVED.code) {
      if (!isProven) this.#sayUnproven('removal-not-authentic', why.via, 'word that this host was removed');
      else if (await this.#leaveBecauseRemoved()) return;
    }
    const joinToken = await this.#options.joinToken();
    if (joinToken === undefined || tokenIdIn(joinToken) === this.#identity.current?.joinToken) return;
    await this.#tryJoin();
  }

  async #tryJoin(): Promise<boolean> {
    const joinToken = await this.#options.joinToken();
    const id = joinToken === undefined ? undefined : tokenIdIn(joinToken);
    if (joinToken === undefined || id === undefined) {
      if (!this.#hasLeft) this.#say({ code: 'no-join-token', message: NO_JOIN_TOKEN });
      return false;
    }
    // A host that has left is quiet: the token that it came with once is no reason to come again.
    if (this.#hasLeft && id === this.#identity.current?.joinToken) return false;
    try {
      return await this.#joinWith(joinToken, id);
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      this.#say({ code: error.code, message: error.message });
      return false;
    }
  }

  async #joinWith(joinToken: string, id: string): Promise<boolean> {
    const { link, ids, log } = this.#ports;
    const { pending } = this.#identity;
    const secret = pending?.joinToken === id ? pending.secret : ids.secret();
    if (pending?.joinToken !== id) await this.#keep({ ...this.#identity, pending: { joinToken: id, secret } });
    const { name } = this.#options;
    const join = { secret, ...(name !== undefined && { host: name }) };
    let requested: Requested | undefined;
    const said = await this.#line.ask(joinToken, (to) => {
      requested = this.#joinsWithoutRequest ? undefined : this.#certificates.newRequest(to.server);
      return link.join(to, { ...join, ...(requested !== undefined && { certificateRequest: requested.request }) });
    });
    if (said.kind === 'refused') {
      this.#joinsWithoutRequest = requested !== undefined && REQUEST_REFUSED.includes(said.code);
      this.#say(said);
    }
    if (said.kind !== 'answer') return false;
    const { host, token, controlPlane, certificate } = said.answer;
    const trust = trustAtJoin(controlPlane);
    // Before the credential: a server may insist on a certificate, and after a crash the join is repeated.
    if (requested !== undefined && certificate !== undefined)
      await this.#certificates.keep(token, requested, certificate);
    await this.#keep({
      current: { host, token, secret, joinToken: id, ...(trust !== undefined && { trust }) },
    });
    this.#certificates.learn(trust?.serial);
    if (trust === undefined) log.warn({ server: said.via }, NO_KEY);
    this.#unwelcome = undefined;
    this.#unproven = undefined;
    this.#noLongerRemoved();
    log.info({ host }, 'joined the fleet');
    return true;
  }

  async #keep(identity: Identity): Promise<void> {
    await this.#memory.keepIdentity(identity);
    this.#identity = identity;
  }

  #say({ code, message }: Unwelcome): void {
    if (this.#unwelcome?.code !== code) this.#ports.log.warn({ code }, message);
    this.#unwelcome = { code, message };
  }
}
