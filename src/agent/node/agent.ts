// The program on a compute node: view in, observations out. It works from its last view when no server answers, and
// everything it awaits is one of its ports.
import {
  CURRENT_SERVICE_VERSION,
  DESIGNATIONS_VERSION,
  CONNTRACK_SYNC_VERSION,
  STANDBY_VERSION,
} from '../../hosts/index.ts';
import { isHolderSigned, isNamedServer } from './trust.ts';
import { CertificateKeeper, abortWith, LeaderClient, type SignedText } from '../../link/index.ts';
import { ReconcileLoop } from './reconcile-loop.ts';
import { ConditionProbe } from './condition-probe.ts';
import { HeartbeatLoop } from './heartbeat-loop.ts';
import type { MembershipRefusal } from './departure.ts';
import { Membership, type MembershipOptions } from './membership.ts';
import { AgentStateStore } from './state/agent-state-store.ts';
import type { HostReport, Stamp, View } from '../protocol/messages.ts';
import type { AgentPorts, LocalDriver } from './ports.ts';
import { ConntrackSync } from './switch/conntrack-sync.ts';
import { RestartLoop } from './restart-loop.ts';
import { TaskRunner } from './task-runner.ts';
import { ViewSubscriber } from './view-subscriber.ts';

export interface AgentOptions extends MembershipOptions {
  /** Where servers answer, at least one. Any of them will do: they name the holder. */
  readonly servers: readonly string[];
  readonly heartbeatMs?: number;
  /** How often the machine is compared with the view. */
  readonly resyncMs?: number;
  /** What this agent knows; less than the program does, to try out what older ones do. */
  readonly serviceVersion?: number;
}

/** Three of them fit into the 15 s after which a silent host is suspect. */
const HEARTBEAT_MS = 5000;
/**
 * A switch that lost what was on it forwards nothing until it is compared: half a minute is soon enough for what rarely happens,
 * and to read ten thousand flows that often costs next to nothing.
 */
const RESYNC_MS = 30_000;

export interface AgentStatus {
  readonly host: string | undefined;
  readonly server: string;
  /** No server answers: the host continues with the last view that it has. */
  readonly isServerUnreachable: boolean;
  readonly refusal: MembershipRefusal | undefined;
  /** Of the last view that was taken. */
  readonly stamp: Stamp | undefined;
  readonly digest: string | undefined;
  /** The view that the machine has converged on. */
  readonly applied: string | undefined;
  readonly refusedView: HostReport['refusedView'];
  readonly problems: readonly string[];
  /** The agent's own; undefined while it has none. */
  readonly certificate: CertificateKeeper['current'];
}

export class Agent {
  readonly #leader: LeaderClient;
  readonly #store: AgentStateStore;
  readonly #membership: Membership;
  readonly #certificates: CertificateKeeper;
  readonly #viewSubscriber: ViewSubscriber;
  readonly #reconcileLoop: ReconcileLoop;
  readonly #taskRunner: TaskRunner;
  readonly #heartbeatLoop: HeartbeatLoop;
  readonly #restartLoop: RestartLoop;
  readonly #conditions: ConditionProbe;
  readonly #driver: LocalDriver;
  readonly #verify: AgentPorts['verify'];

  constructor(ports: AgentPorts, options: AgentOptions) {
    const { servers, heartbeatMs = HEARTBEAT_MS, resyncMs = RESYNC_MS } = options;
    const { serviceVersion = CURRENT_SERVICE_VERSION } = options;
    const store = new AgentStateStore(ports.disk, ports.log);
    const leader = new LeaderClient(servers, ports.log, (holder, signed) => this.#isTrustedHolder(holder, signed));
    const certificates = new CertificateKeeper(ports, { leader, store, program: 'agent' });
    const membership = new Membership(ports, options, { leader, store, certificates });
    this.#store = store;
    this.#certificates = certificates;
    this.#verify = ports.verify;
    const onView = (): void => {
      this.#reconcileLoop.wake();
      this.#taskRunner.wake();
      this.#restartLoop.wake();
    };
    this.#driver = ports.driver;
    this.#leader = leader;
    this.#membership = membership;
    this.#viewSubscriber = new ViewSubscriber(ports, { leader, store, membership, onView });
    const knowsSwitch = serviceVersion >= DESIGNATIONS_VERSION;
    this.#reconcileLoop = new ReconcileLoop(ports, {
      view: () =>
        membership.departure.isLeaving || membership.isUnconfirmed
          ? undefined
          : downgradeView(this.#viewSubscriber.view, serviceVersion),
      onChanged: () => this.#heartbeatLoop.sendSoon(),
      resyncMs,
      conntrackSync:
        serviceVersion >= CONNTRACK_SYNC_VERSION ? new ConntrackSync(ports, { leader, membership }) : undefined,
    });
    membership.departure.onReverted = () => this.#reconcileLoop.invalidate();
    const view = (): ViewSubscriber['view'] =>
      this.#viewSubscriber.isConfirmed ? this.#viewSubscriber.view : undefined;
    const isViewVerified = (): boolean => this.#viewSubscriber.isVerified;
    this.#taskRunner = new TaskRunner(ports, { leader, store, membership, serviceVersion, view, isViewVerified });
    this.#restartLoop = new RestartLoop(ports, { view: () => (membership.departure.isLeaving ? undefined : view()) });
    this.#conditions = new ConditionProbe(ports, {
      everyMs: heartbeatMs,
      reconcileFailure: () => this.#reconcileLoop.failure,
      onChanged: () => this.#heartbeatLoop.sendSoon(),
    });
    this.#heartbeatLoop = new HeartbeatLoop(ports, {
      leader,
      membership,
      serviceVersion,
      reportsSwitch: knowsSwitch,
      heartbeatMs,
      isLeaving: () => isTombstoned(this.#viewSubscriber.view),
      appliedDigest: () => this.#reconcileLoop.applied,
      unready: () => this.#reconcileLoop.unready,
      conditions: () => this.#conditions.current,
      viewRevision: () => this.#viewSubscriber.view?.stamp.revision,
      problems: () => this.#problems(),
      refusedView: () => this.#viewSubscriber.refusedView,
    });
  }

  status(): AgentStatus {
    const { view, refusedView } = this.#viewSubscriber;
    return {
      host: this.#membership.current?.host,
      server: this.#leader.server,
      isServerUnreachable: this.#leader.isUnreachable,
      refusal: this.#membership.refusal,
      stamp: view?.stamp,
      digest: view?.digest,
      applied: this.#reconcileLoop.applied,
      refusedView,
      problems: this.#problems(),
      certificate: this.#certificates.current,
    };
  }

  #problems(): readonly string[] {
    const reporters = [this.#store, this.#membership, this.#certificates, this.#viewSubscriber, this.#reconcileLoop];
    return reporters.flatMap(({ problems }) => problems);
  }

  /** Whether the control plane has named a server: in its list, or as the holder in an epoch that is not over. */
  #isTrustedHolder(holder: string, signed: SignedText | undefined): boolean {
    const { trust } = this.#membership;
    if (isNamedServer(trust, holder)) return true;
    const named = { holder, signed, verify: this.#verify };
    return isHolderSigned(trust, named, this.#viewSubscriber.view?.stamp.leaseEpoch ?? 0);
  }

  /** Works until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#membership.load();
    await this.#viewSubscriber.load();
    await this.#taskRunner.load();
    const stops = [
      this.#driver.onBfdChange?.(() => this.#heartbeatLoop.sendNow()),
      this.#driver.onInstanceEnded?.(() => {
        this.#heartbeatLoop.inspectSoon();
        this.#restartLoop.wake();
      }),
    ];
    const beside = [this.#reconcileLoop.run(signal), this.#driver.run?.(signal), this.#conditions.run(signal)];
    await Promise.all([...beside, this.#runConnected(signal)]);
    for (const stop of stops) stop?.();
  }

  /** The machine is kept converged on the last view from the start; everything else needs a server. */
  async #runConnected(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#membership.join(signal);
      await this.#runUntilLeft(signal);
    }
  }

  async #runUntilLeft(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    if (signal.aborted) return;
    const unlink = abortWith(over, signal);
    this.#membership.departure.onLeft = () => over.abort('over');
    this.#membership.departure.onRemoved = () => this.#taskRunner.wipe(this.#viewSubscriber.view, over.signal);
    const certificates = this.#certificates.run(() => this.#membership.certificateRequester(), over.signal);
    await Promise.all([
      certificates,
      ...[this.#heartbeatLoop, this.#viewSubscriber, this.#taskRunner, this.#restartLoop].map((one) =>
        one.run(over.signal),
      ),
    ]);
    unlink();
    if (!signal.aborted) this.#viewSubscriber.reset();
  }
}

/** What an older agent makes of a view: parts that came later are not there for it. */
function downgradeView(view: View | undefined, serviceVersion: number): View | undefined {
  if (view === undefined || serviceVersion >= STANDBY_VERSION) return view;
  const { heartbeats: _former, bfd: _bfd, ...older } = view.parts;
  if (serviceVersion >= DESIGNATIONS_VERSION) return { ...view, parts: older };
  const { peers: _peers, services: _services, ...parts } = older;
  return { ...view, parts };
}

function isTombstoned(view: View | undefined): boolean {
  const self = view?.parts['self'] as { readonly tombstoned?: boolean } | undefined;
  return self?.tombstoned === true;
}
