// The port to whatever runs instances on a node: simulated machines, network namespaces, later QEMU. What is the same for all of them
// is not here but in `InstanceTasks`: the order of tasks, repetition, service versions, ports at older back ends. Nothing outside this
// port may know which runtime it is. A runtime never destroys an instance by itself: what it does not know of is a stray.
import type { SubnetView } from '../../../dataplane/index.ts';
import type { ReportedCondition } from '../../../hosts/index.ts';
import { StateDamaged } from '../ports.ts';
import type { PortFact } from './host-ports.ts';
import type { TaskNic } from './instance-task-args.ts';

/** `prepared`: there is room and it is expected, it does not run. `stopped`: it is here, and without power. */
export type InstancePowerState = 'prepared' | 'running' | 'stopped';

export interface RuntimeCapacity {
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly diskGiB: number;
}

export interface RuntimeInstance extends RuntimeCapacity {
  readonly id: string;
  readonly state: InstancePowerState;
  /** It is prepared for, and nothing was sent yet. Only where runtimes know it. */
  readonly awaited?: true;
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
export function failExists(id: string): RuntimeFailure {
  return runtimeFailed('instance-exists', `instance ${id} runs on this host`);
}

export function failNotHere(id: string): RuntimeFailure {
  return runtimeFailed('instance-gone', `instance ${id} is not on this host`);
}

export function failNotPrepared(id: string): RuntimeFailure {
  return runtimeFailed('not-prepared', `instance ${id} is not on this host`);
}

/** Opening says that what was kept is damaged: what to do about it. Any other failure goes on to the caller. */
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

/** What a view says that a runtime may want to know. */
export interface RuntimeView {
  /** Undefined while a view says nothing of instances. */
  readonly instances: readonly ExpectedInstance[] | undefined;
  /** Instances that a task of the view is about. */
  readonly underTask: ReadonlySet<string>;
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
  /** What it has, in the order of their ids. */
  readonly instances: readonly RuntimeInstance[];
  instance(id: string): RuntimeInstance | undefined;
  /** Where an instance went that left by `migrate`; undefined when it never did, or long ago. */
  sentTo(id: string): string | undefined;
  /** What is short for it now, in words, when it takes the place of what it was before. Nothing is reserved. */
  findShortage(id: string, wanted: RuntimeCapacity): readonly string[];
  /** Makes and starts it. What was there under its id before is replaced. */
  build(spec: InstanceSpec, call: RuntimeCall): Promise<RuntimeResult>;
  /** Has room for an instance that comes from another host. Its facts are given to `migrate` there. */
  prepare(spec: InstanceSpec, call: RuntimeCall): Promise<RuntimeResult>;
  /** Hands it to the host that prepared for it. It is never gone here before it is there; when it fails it runs on. */
  migrate(order: MigrateOrder, call: RuntimeCall): Promise<RuntimeResult>;
  /** Runs what was prepared for and received. */
  activate(order: ActivateOrder, call: RuntimeCall): Promise<RuntimeResult>;
  start(id: string, call: RuntimeCall): Promise<RuntimeResult>;
  stop(id: string, call: RuntimeCall): Promise<RuntimeResult>;
  /** Nothing of it is left: not what runs, not its files, not its interfaces. Done for what is not there. */
  destroy(id: string, call: RuntimeCall): Promise<RuntimeResult>;
  /** What runs here under a name of ours and without a record, by ids. Nothing here touches it. */
  findStrays(): Promise<readonly string[]>;
  /** What is wrong with it, and what an operator should do. */
  conditions(): Promise<readonly ReportedCondition[]>;
  /** Called for every view. Makes and destroys nothing. */
  observeView?(view: RuntimeView): Promise<void>;
}
