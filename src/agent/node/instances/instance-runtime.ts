// The port to whatever runs instances on a node: simulated machines, network namespaces, later QEMU. What is the same for all of them
// is not here but in `InstanceTasks`: the order of tasks, repetition, service versions, ports at older back ends. Nothing outside this
// port may know which runtime it is. A runtime never destroys an instance by itself: what it does not know of is a stray.
import type { SubnetView } from '../../../dataplane/index.ts';
import type { ReportedCondition } from '../../../hosts/index.ts';
import { StateDamaged } from '../ports.ts';
import type { PortFact } from './host-ports.ts';
import type { TaskNic } from './instance-task-args.ts';

/**
 * `prepared`: there is room and it is expected, nothing of it is here yet. `received`: it has arrived from another host, and was never started here.
 * `stopped`: it is here, and without power. `ended`: it ran, and ended by itself. `sent`: it was handed over to another host, and must never be
 * started here again.
 */
export const INSTANCE_POWER_STATES = ['prepared', 'received', 'running', 'stopped', 'ended', 'sent'] as const;
export type InstancePowerState = (typeof INSTANCE_POWER_STATES)[number];

export interface RuntimeCapacity {
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly diskGiB: number;
}

/** With what it takes of this machine: nothing where one that was sent has left nothing. */
export interface RuntimeInstance extends RuntimeCapacity {
  readonly id: string;
  readonly state: InstancePowerState;
  /** The host that one was sent to. */
  readonly target?: string;
  /** When it last ended by itself, by this machine's clock: another time is another end. Absent when it never did since it was made here. */
  readonly endedAtMs?: number;
  readonly nics: readonly TaskNic[];
  /** The task that made it so. The same task again finds its work done. */
  readonly by: string;
  /** What that task said of ports. */
  readonly ports?: readonly PortFact[];
  /** What that task answered beside ports. */
  readonly facts?: RuntimeFacts;
}

/** What a runtime answers for another runtime, such as a line and a one-time secret. Opaque to all between them. */
export type RuntimeFacts = Readonly<Record<string, unknown>>;

export interface InstanceSpec extends RuntimeCapacity {
  readonly id: string;
  readonly image?: string | undefined;
  readonly nics: readonly TaskNic[];
  /** How it will come; of an instance that is prepared for. */
  readonly move?: MoveKind | undefined;
}

export type MoveKind = 'live' | 'cold';

export interface MigrateOrder {
  readonly id: string;
  /** The host that it goes to. */
  readonly target: string;
  readonly move: MoveKind;
  /** What `prepare` answered there. */
  readonly handover?: RuntimeFacts | undefined;
}

export interface ActivateOrder {
  readonly id: string;
  readonly nics: readonly TaskNic[];
  readonly move?: MoveKind | undefined;
}

/** What every call is given beside its order. */
export interface RuntimeCall {
  /** The task that it is part of: kept with the instance as `by`. */
  readonly task: string;
  /** The host that this node is. */
  readonly host: string;
  /** Kept with the instance. */
  readonly ports: readonly PortFact[];
  /** The agent stops: what has not taken effect is left, and begun again at the next start. */
  readonly signal: AbortSignal;
}

export type RuntimeResult =
  | { readonly kind: 'done'; readonly facts?: RuntimeFacts }
  /** `fault` in kebab-case: what the server decides by. */
  | { readonly kind: 'failed'; readonly fault: string; readonly problem: string };

export type RuntimeFailure = Extract<RuntimeResult, { kind: 'failed' }>;

export const RUNTIME_DONE: RuntimeResult = { kind: 'done' };

export function runtimeFailed(fault: string, problem: string): RuntimeFailure {
  return { kind: 'failed', fault, problem };
}

/** What the agent stopped is no failure: nothing is decided by it. */
export const CUT_SHORT = runtimeFailed('cut-short', 'the agent was stopped');

export function failShortage(short: readonly string[]): RuntimeFailure {
  return runtimeFailed('resources-gone', `no room on this host: ${short.join('; ')}`);
}

/** It may be the only one there is: to prepare for another copy would be to destroy it. */
export function failExists({ id, state }: Pick<RuntimeInstance, 'id' | 'state'>): RuntimeFailure {
  const how = state === 'received' ? 'has arrived' : 'runs';
  return runtimeFailed('instance-exists', `instance ${id} ${how} on this host`);
}

export function failNotHere(id: string): RuntimeFailure {
  return runtimeFailed('instance-gone', `instance ${id} is not on this host`);
}

export function failNotPrepared(id: string): RuntimeFailure {
  return runtimeFailed('not-prepared', `instance ${id} is not on this host`);
}

/** There is room for it, and nothing to run. */
export function failNotReceived(id: string): RuntimeFailure {
  return runtimeFailed('nothing-received', `instance ${id} was not sent to this host`);
}

/** It may run there: a second copy would be started here. */
export function failSent({ id, target }: Pick<RuntimeInstance, 'id' | 'target'>): RuntimeFailure {
  return runtimeFailed(
    'instance-gone',
    `instance ${id} is not on this host: it was sent to ${target ?? 'another host'}`,
  );
}

/** It runs on here. */
export function failCancelled(id: string): RuntimeFailure {
  return runtimeFailed('migration-failed', `the migration of instance ${id} was cancelled`);
}

/** Opening says that what was kept is damaged: what to do about it. Any other failure is thrown to the caller. */
export async function handleDamage(
  opened: Promise<void>,
  otherwise: (damage: StateDamaged) => Promise<void>,
): Promise<void> {
  try {
    await opened;
  } catch (error) {
    if (!(error instanceof StateDamaged)) throw error;
    await otherwise(error);
  }
}

/** What a view says that may concern a runtime. */
export interface RuntimeView {
  /** Undefined while a view says nothing of instances. */
  readonly instances: readonly ExpectedInstance[] | undefined;
  /** Instances that a task of the view is about. */
  readonly underTask: ReadonlySet<string>;
  /** Those among them that are only to be migrated. */
  readonly migrating: ReadonlySet<string>;
  readonly subnets: readonly SubnetView[];
}

export interface ExpectedInstance {
  readonly id: string;
  readonly role: 'home' | 'incoming';
  readonly state: string;
  readonly amounts?: RuntimeCapacity | undefined;
  readonly ports: readonly ExpectedPort[];
}

export type ExpectedPort = Pick<TaskNic, 'mac' | 'network' | 'serial' | 'addresses'> & { readonly id: string };

/**
 * Calls for one instance never overlap, those for several may. Each may be repeated after a crash. What it cannot do is a value;
 * it rejects with `DiskFailed` when its state cannot be read or written (`StateDamaged` when it cannot be trusted), and anything else that it throws is a bug.
 */
export interface InstanceRuntime {
  /**
   * Adopts what ran when the process before this one ended. Called before anything else, and again after it rejected. While it rejects,
   * what runs here is unknown: nothing is removed, and nothing is reported of instances.
   */
  open(): Promise<void>;
  /**
   * An operator's word that what was kept is lost: what is really there counts from now on, with what the version before says of it.
   * Removes nothing. Nothing happens when it can be opened.
   */
  recover(): Promise<void>;
  /** What it has, and those that left by `migrate` not long ago and were not destroyed since, in the order of their ids. */
  readonly instances: readonly RuntimeInstance[];
  instance(id: string): RuntimeInstance | undefined;
  /** What is short for it now, in words, when it takes the place of what it was before. Nothing is reserved. */
  findShortage(id: string, wanted: RuntimeCapacity): readonly string[];
  /** Makes and starts it. What was there under its id before is replaced. */
  build(spec: InstanceSpec, call: RuntimeCall): Promise<RuntimeResult>;
  /** Has room for an instance that comes from another host. Its facts are given to `migrate` there. */
  prepare(spec: InstanceSpec, call: RuntimeCall): Promise<RuntimeResult>;
  /** Hands it to the host that prepared for it: it is `sent` then. It is never gone here before it is there; when it fails it runs on. */
  migrate(order: MigrateOrder, call: RuntimeCall): Promise<RuntimeResult>;
  /** Ends a migration that is under way: it fails, and the instance runs on here. One that was handed over already is sent all the same. */
  cancelMigration(id: string): void;
  /** Runs what was prepared for and received. What is only prepared runs where nothing has to arrive, and fails elsewhere. */
  activate(order: ActivateOrder, call: RuntimeCall): Promise<RuntimeResult>;
  /** Also one that ended by itself. */
  start(id: string, call: RuntimeCall): Promise<RuntimeResult>;
  stop(id: string, call: RuntimeCall): Promise<RuntimeResult>;
  /** Nothing of it is left: not what runs, not its files, not its interfaces. Done for what is not there. */
  destroy(id: string, call: RuntimeCall): Promise<RuntimeResult>;
  /** What runs here under a name of ours and without a record, by ids. Nothing here touches it. */
  findStrays(): Promise<readonly string[]>;
  /** Calls when an instance has ended by itself; it is `ended` then. It is not started again here. */
  onEnded(listener: (id: string) => void): () => void;
  /** Reads which instances really run, where nothing reports it by itself. Called every few seconds. */
  refresh?(): Promise<void>;
  /** What is wrong with it, and what an operator should do. */
  conditions(): Promise<readonly ReportedCondition[]>;
  /** Called for every view. Makes and destroys nothing. */
  observeView?(view: RuntimeView): Promise<void>;
}
