// What an agent needs of the world: a link to the servers, a disk, a driver for its machine, time and chance. The core
// of the agent awaits nothing else, so that the simulation can run it, crash it and cut it off at any of these calls.
import type { ConntrackImport, TrackedConnection } from '../../dataplane/index.ts';
import type { ReportedCondition, SwitchIdentity } from '../../hosts/index.ts';
import type { Clock, Ids } from '../../journal/index.ts';
import type { Log, Task, TaskFence, TaskResult } from '../../operations/index.ts';
import {
  DiskFailed,
  type CertificateLink,
  type Reply,
  type CallTarget,
  type StateDisk,
  type Verify,
} from '../../link/index.ts';
import type {
  CollectRequest,
  CollectResponse,
  DepositRequest,
  DepositResponse,
  HeartbeatResponse,
  Heartbeat,
  JoinRequest,
  JoinResponse,
  Observations,
  ObservationsResponse,
  UnreadyService,
  View,
  ViewResponse,
  ViewRequest,
} from '../protocol/messages.ts';

/** Rejects with `LinkDown` when no answer came: the request may have been carried out or not. Every call may be repeated. */
export interface AgentLink {
  /** Whether whoever answers at this address has proven to be one of our servers, by a certificate that is trusted or pinned. */
  isAuthenticated(server: string): boolean;
  join(to: CallTarget, join: JoinRequest): Promise<Reply<JoinResponse>>;
  heartbeat(to: CallTarget, beat: Heartbeat): Promise<Reply<HeartbeatResponse>>;
  /** Waits at the server until there is something new. An aborted `signal` ends it early, with `LinkDown`. */
  view(to: CallTarget, request: ViewRequest, signal: AbortSignal): Promise<Reply<ViewResponse>>;
  observe(to: CallTarget, observations: Observations): Promise<Reply<ObservationsResponse>>;
  /** Leaves the connections of a service for the host that takes it over. */
  deposit(to: CallTarget, deposit: DepositRequest): Promise<Reply<DepositResponse>>;
  /** Waits at the server for those of the host before, as `view` does. */
  collect(to: CallTarget, request: CollectRequest, signal: AbortSignal): Promise<Reply<CollectResponse>>;
  /** Absent where the agent itself is not authenticated by a certificate. */
  readonly certificates?: CertificateLink | undefined;
}

/** What was kept cannot be trusted, or is gone. It is never read as if there had been nothing. */
export class StateDamaged extends DiskFailed {
  override readonly code = 'state-damaged';
}

/** `identity`: the secret and what came of it. `view`: the last one taken. `answers`: to tasks of that view. `machine`:
 * what an instance runtime has; `machine-previous`: the version before that; `machine-used`: it has had something. `switch`: what is on a simulated switch. `certificate`: the agent's own, with its key. */
export type FileName = 'identity' | 'view' | 'answers' | 'certificate' | RuntimeFileName | 'switch';

export type RuntimeFileName = 'machine' | 'machine-previous' | 'machine-used';

/** Where an agent keeps what it may not forget. */
export type Disk = StateDisk<FileName>;

export type ApplyResult =
  /** With the services that cannot be provided here yet: they are tried again, and hold up nothing else. */
  | { readonly kind: 'applied' | 'already'; readonly unready?: readonly UnreadyService[] }
  /** Not converged on the view yet, and this is why. It is tried again. */
  | { readonly kind: 'failed'; readonly problems: readonly string[] };

/** The machine. Level-triggered, and repeating a call is a no-op. It answers with failures; what it throws is a bug. */
export interface LocalDriver {
  /** Makes the machine converge on the view. Never destroys an instance: that takes a task. */
  apply(view: View, signal: AbortSignal): Promise<ApplyResult>;
  /** Carries out one task; `preflight` is one. May be called again for the same task after a crash, not otherwise. */
  perform(task: Task, fence: TaskFence): Promise<TaskResult>;
  /**
   * Whether the machine is still as this view says: others have their hands on it too. Changes nothing; no
   * when it is unknown. Absent where nothing else can change anything.
   */
  hasConverged?(view: View, signal: AbortSignal): Promise<boolean>;
  /** Calls when that should be read at once; answers how to stop it. Absent where changes go unnoticed: it is read now and then. */
  onChanged?(changed: () => void): () => void;
  /** What the machine is, and what is there without being in the view. */
  inspect(): Promise<Inspection>;
  /** All that is wrong with what it drives, found by a probe; absent where nothing can fail. May take as long as it takes. */
  conditions?(): Promise<readonly ReportedCondition[]>;
  /** Calls at once when an instance has ended by itself. */
  onInstanceEnded?(listener: () => void): () => void;
  /**
   * Starts again what ended by itself and runs here by this view, which a holder has confirmed. Answers after how long it is to be called again;
   * undefined when nothing is left to be started.
   */
  startEnded?(view: View, signal: AbortSignal): Promise<number | undefined>;
  /** Calls at once when BFD to a peer goes down, or up. */
  onBfdChange?(listener: () => void): () => void;
  /** Runs beside everything else until `signal` is aborted, for what the machine does by itself. */
  run?(signal: AbortSignal): Promise<void>;
  /** The peers with BFD down; undefined where there is no BFD. Read for every heartbeat. */
  bfdDownPeers?(): Promise<readonly string[] | undefined>;
  /** The connections that are translated here for a service, those first that are worth most. Rejects with `SwitchDown`. */
  listConnections?(service: string): Promise<readonly TrackedConnection[]>;
  /** Knows the connections of the host before from now on. Those that are here stay as they are. Rejects with `SwitchDown`. */
  importConnections?(service: string, connections: readonly TrackedConnection[]): Promise<ConntrackImport>;
  /** The service is not translated here any more. Rejects with `SwitchDown`. */
  forgetConnections?(service: string): Promise<void>;
}

export interface InspectedInstance {
  readonly id: string;
  readonly state: string;
  /** When it last ended by itself, by this machine's clock. */
  readonly endedAtMs?: number;
}

export interface Inspection {
  readonly facts: Readonly<Record<string, unknown>>;
  readonly strays: readonly string[];
  /** Those that are here, and how; absent while that is unknown. */
  readonly instances?: readonly InspectedInstance[];
  /** What fails there and keeps nothing away, in sentences. */
  readonly problems?: readonly string[];
  /** Absent while the switch does not say who it is. */
  readonly switch?: SwitchIdentity;
}

export interface AgentPorts {
  readonly link: AgentLink;
  readonly disk: Disk;
  readonly driver: LocalDriver;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'secret'>;
  readonly verify: Verify;
  /** A number from 0 up to, not including, 1: spreads what would otherwise happen at once everywhere. */
  readonly random: () => number;
  readonly log: Log;
}
