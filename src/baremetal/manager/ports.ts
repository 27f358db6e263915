// What a manager's program awaits: the link to the control plane, the machines, time. Everything comes as a parameter, so that the same program runs
// as a process of its own, inside a server, and in the simulation.
import type { Clock } from '../../journal/index.ts';
import type { Reply, CallTarget } from '../../link/index.ts';
import type { Log } from '../../operations/index.ts';
import type { InventoryName } from '../model.ts';
import type { MachineDriver } from '../drivers/inventory.ts';
import type {
  AcquireRequest,
  AcquireResponse,
  AnswerRequest,
  AnswerResponse,
  LeaseResponse,
  RegisterRequest,
  ReleaseResponse,
  TasksQuery,
  TasksResponse,
  TenureRequest,
} from '../managers/messages.ts';

/** The calls of a manager, by its name. Each may be repeated. */
export interface ManagerLink {
  register(to: CallTarget, manager: string, request: RegisterRequest): Promise<Reply<LeaseResponse>>;
  renew(to: CallTarget, manager: string, request: TenureRequest): Promise<Reply<LeaseResponse>>;
  release(to: CallTarget, manager: string, request: TenureRequest): Promise<Reply<ReleaseResponse>>;
  acquire(to: CallTarget, manager: string, request: AcquireRequest): Promise<Reply<AcquireResponse>>;
  /** Waits at the server. */
  tasks(to: CallTarget, manager: string, query: TasksQuery, signal: AbortSignal): Promise<Reply<TasksResponse>>;
  answer(to: CallTarget, manager: string, request: AnswerRequest): Promise<Reply<AnswerResponse>>;
  /** Requests a node of the reservation endpoint. */
  reserve(to: CallTarget, request: Readonly<Record<string, unknown>>): Promise<Reply<ReservationReply>>;
}

/** The part of a reservation that a manager looks at. */
export interface ReservationReply {
  readonly state: string;
  readonly node?: string;
}

export interface ManagerPorts {
  readonly link: ManagerLink;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly drivers: ReadonlyMap<InventoryName, MachineDriver>;
}

export interface ManagerOptions {
  readonly name: string;
  readonly version: string;
  /** Which process this is: a new id for each start. */
  readonly holder: string;
  /** Where servers answer, at least one. Any of them will do. */
  readonly servers: readonly string[];
  readonly token: () => string | undefined;
  readonly host?: string | undefined;
  readonly site?: string | undefined;
  /** Of the keys that certificates are issued with, each time that a server names it. */
  readonly onKeysSerial?: (serial: number | undefined) => void;
  /** It runs inside a server, and is paused there. */
  readonly isEmbedded?: boolean;
}
