// The program on a compute node: view in, observations out. It works from its last view when no server answers, and
// everything it awaits is one of its ports.
import { CURRENT_SERVICE_VERSION, DESIGNATIONS_VERSION, SEEDING_VERSION, STANDBY_VERSION } from '../hosts/index.ts';
import { isHolderVouchedFor, isNamedServer } from './trust.ts';
import { abortWith } from './abort-with.ts';
import { Applier } from './applier.ts';
import { CertificateKeeper } from './certificate-keeper.ts';
import { ConditionProbe } from './condition-probe.ts';
import { Heart } from './heart.ts';
import { Line } from './line.ts';
import { Membership, type MembershipOptions, type Unwelcome } from './membership.ts';
import { Memory } from './memory.ts';
import type { Report, Stamp, View } from './messages.ts';
import type { AgentPorts, LocalDriver } from './ports.ts';
import { Seeder } from './seeder.ts';
import type { Signed } from './statement.ts';
import { Tasks } from './tasks.ts';
import { Viewer } from './viewer.ts';

export interface AgentOptions extends MembershipOptions {
  /** Where servers answer, at least one. Any of them will do: they name the holder. */
  readonly servers: readonly string[];
  readonly heartbeatMs?: number;
  /** How often the machine is compared with the view. */
  readonly checkMs?: number;
  /** What this agent knows; less than the program does, to try out what older ones do. */
  readonly serviceVersion?: number;
}

/** Three of them fit into the 15 s after which a silent host is suspect. */
const HEARTBEAT_MS = 5000;
/**
 * A switch that lost what was on it forwards nothing until somebody looks: half a minute is soon enough for what rarely happens,
 * and to read ten thousand flows that often costs next to nothing.
 */
const CHECK_MS = 30_000;

export interface AgentStatus {
  readonly host: string | undefined;
  readonly server: string;
  /** No server answers: the host goes on with what it has. */
  readonly away: boolean;
  readonly unwelcome: Unwelcome | undefined;
  /** Of the last view that was taken. */
  readonly stamp: Stamp | undefined;
  readonly digest: string | undefined;
  /** The view that the machine is in line with. */
  readonly applied: string | undefined;
  readonly refusedView: Report['refusedView'];
  readonly problems: readonly string[];
  /** The agent's own; undefined while it has none. */
  readonly certificate: CertificateKeeper['held'];
}

export class Agent {
  readonly #line: Line;
  readonly #membership: Membership;
  readonly #certificates: CertificateKeeper;
  readonly #viewer: Viewer;
  readonly #applier: Applier;
  readonly #tasks: Tasks;
  readonly #heart: Heart;
  readonly #conditions: ConditionProbe;
  readonly #driver: LocalDriver;
  readonly #verify: AgentPorts['verify'];

  constructor(ports: AgentPorts, options: AgentOptions) {
    const { servers, heartbeatMs = HEARTBEAT_MS, checkMs = CHECK_MS } = options;
    const { serviceVersion = CURRENT_SERVICE_VERSION } = options;
    const memory = new Memory(ports.disk, ports.log);
    const line = new Line(servers, ports.log, (holder, signed) => this.#vouchesFor(holder, signed));
    const certificates = new CertificateKeeper(ports, { line, memory });
    const membership = new Membership(ports, options, { line, memory, certificates });
    this.#certificates = certificates;
    this.#verify = ports.verify;
    const taken = (): void => {
      this.#applier.look();
      this.#tasks.look();
    };
    this.#driver = ports.driver;
    this.#line = line;
    this.#membership = membership;
    this.#viewer = new Viewer(ports, { line, memory, membership, taken });
    const knowsSwitch = serviceVersion >= DESIGNATIONS_VERSION;
    this.#applier = new Applier(ports, {
      view: () => (membership.isLeaving ? undefined : known(this.#viewer.view, serviceVersion)),
      changed: () => this.#heart.soon(),
      checkMs,
      seeder: serviceVersion >= SEEDING_VERSION ? new Seeder(ports, { line, membership }) : undefined,
    });
    membership.onStay = () => this.#applier.redo();
    const view = (): Viewer['view'] => (this.#viewer.confirmed ? this.#viewer.view : undefined);
    this.#tasks = new Tasks(ports, { line, memory, membership, serviceVersion, view });
    this.#conditions = new ConditionProbe(ports, {
      everyMs: heartbeatMs,
      failing: () => this.#applier.failing,
      changed: () => this.#heart.soon(),
    });
    this.#heart = new Heart(ports, {
      line,
      membership,
      serviceVersion,
      tellsOfSwitch: knowsSwitch,
      heartbeatMs,
      isLeaving: () => isTombstoned(this.#viewer.view),
      applied: () => this.#applier.applied,
      unready: () => this.#applier.unready,
      conditions: () => this.#conditions.current,
      asOf: () => this.#viewer.view?.stamp.revision,
      problems: () => this.#problems(),
      refusedView: () => this.#viewer.refusedView,
    });
  }

  status(): AgentStatus {
    const { view, refusedView } = this.#viewer;
    return {
      host: this.#membership.current?.host,
      server: this.#line.server,
      away: this.#line.away,
      unwelcome: this.#membership.unwelcome,
      stamp: view?.stamp,
      digest: view?.digest,
      applied: this.#applier.applied,
      refusedView,
      problems: this.#problems(),
      certificate: this.#certificates.held,
    };
  }

  #problems(): readonly string[] {
    const reporters = [this.#membership, this.#certificates, this.#viewer, this.#applier];
    return reporters.flatMap(({ problems }) => problems);
  }

  /** Whether the control plane has named a server: in its list, or as the holder in an epoch that is not over. */
  #vouchesFor(holder: string, signed: Signed | undefined): boolean {
    const { trust } = this.#membership;
    if (isNamedServer(trust, holder)) return true;
    const named = { holder, signed, verify: this.#verify };
    return isHolderVouchedFor(trust, named, this.#viewer.view?.stamp.leaseEpoch ?? 0);
  }

  /** Works until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#membership.load();
    await this.#viewer.load();
    await this.#tasks.load();
    const stop = this.#driver.onHearing?.(() => this.#heart.atOnce());
    const beside = [this.#applier.run(signal), this.#driver.run?.(signal), this.#conditions.run(signal)];
    await Promise.all([...beside, this.#talk(signal)]);
    stop?.();
  }

  /** The machine is kept in line with the last view from the start; everything else needs a server. */
  async #talk(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#membership.join(signal);
      await this.#talkUntilLeft(signal);
    }
  }

  async #talkUntilLeft(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    if (signal.aborted) return;
    const unlink = abortWith(over, signal);
    this.#membership.onLeft = () => over.abort('over');
    this.#membership.onRemoved = () => this.#tasks.wipe(this.#viewer.view, over.signal);
    const certificates = this.#certificates.run(() => this.#membership.asker(), over.signal);
    await Promise.all([certificates, ...[this.#heart, this.#viewer, this.#tasks].map((one) => one.run(over.signal))]);
    unlink();
    if (!signal.aborted) this.#viewer.forget();
  }
}

/** What an older agent makes of a view: parts that came later are not there for it. */
function known(view: View | undefined, serviceVersion: number): View | undefined {
  if (view === undefined || serviceVersion >= STANDBY_VERSION) return view;
  const { heartbeats: _heartbeats, ...older } = view.parts;
  if (serviceVersion >= DESIGNATIONS_VERSION) return { ...view, parts: older };
  const { peers: _peers, services: _services, ...parts } = older;
  return { ...view, parts };
}

function isTombstoned(view: View | undefined): boolean {
  const self = view?.parts['self'] as { readonly tombstoned?: boolean } | undefined;
  return self?.tombstoned === true;
}
