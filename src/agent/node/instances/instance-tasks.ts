// Carries out the tasks that concern instances, on any instance runtime. Each may be performed again after a crash and
// finds its work done; tasks of one instance follow one another, so that a build that is under way cannot outlive the
// order to destroy it.
import { mark } from '../../../fleet/index.ts';
import type { Clock } from '../../../journal/index.ts';
import type { HostNetwork } from '../../../network/index.ts';
import type { Task, TaskFence, TaskResult } from '../../../operations/index.ts';
import { HostPorts, type PortFact, type PortsResult } from './host-ports.ts';
import {
  CUT_SHORT,
  failExists,
  failNotHere,
  failNotPrepared,
  failSent,
  failShortage,
  runtimeFailed,
  type InstanceRuntime,
  type InstanceSpec,
  type RuntimeFacts,
  type RuntimeFailure,
  type RuntimeInstance,
  type RuntimeResult,
} from './instance-runtime.ts';
import {
  findUnsupported,
  parseInstanceTask,
  portWorkOf,
  type ActivateArgs,
  type BuildArgs,
  type ParsedInstanceTask,
  type MigrateArgs,
} from './instance-task-args.ts';
import { DiskFailed } from '../../../link/index.ts';

export interface InstanceTasksParts {
  readonly runtime: InstanceRuntime;
  readonly clock: Clock;
  /** The host's own access to networks; older hosts need it. */
  readonly network?: HostNetwork | undefined;
}

/** One task under way. */
interface RunningTask {
  readonly task: Task;
  readonly parsed: ParsedInstanceTask;
  readonly fence: TaskFence;
}

export class InstanceTasks {
  readonly #runtime: InstanceRuntime;
  readonly #ports: HostPorts;
  /** The last task of each instance that has one under way. */
  readonly #queues = new Map<string, Promise<unknown>>();
  /** Instances with a migration under way or waiting. */
  readonly #migrating = new Set<string>();

  constructor({ runtime, clock, network }: InstanceTasksParts) {
    this.#runtime = runtime;
    this.#ports = new HostPorts(network, clock);
  }

  async perform(task: Task, fence: TaskFence): Promise<TaskResult> {
    const parsed = parseInstanceTask(task);
    if (!('task' in parsed)) return { outcome: 'failed', problems: parsed, facts: { fault: 'unsupported' } };
    const { instance } = parsed.args;
    // What is to be destroyed is not copied to its end first: that may take minutes.
    if (parsed.task === 'destroy' && this.#migrating.has(instance)) this.#runtime.cancelMigration(instance);
    const work = (): Promise<TaskResult> => this.#tryPerform({ task, parsed, fence });
    return parsed.task === 'migrate' ? this.#migrate(instance, work) : this.#serialize(instance, work);
  }

  async #migrate(instance: string, work: () => Promise<TaskResult>): Promise<TaskResult> {
    this.#migrating.add(instance);
    try {
      return await this.#serialize(instance, work);
    } finally {
      this.#migrating.delete(instance);
    }
  }

  /** Starts what ended by itself, in its turn among the tasks of the instance. False when that failed. */
  async startAgain(id: string, { host, signal }: Pick<TaskFence, 'host' | 'signal'>): Promise<boolean> {
    return this.#serialize(id, async () => {
      const found = this.#runtime.instance(id);
      if (found?.state !== 'ended') return true;
      // It is as that task made it: the same task again still finds its work done.
      const call = { task: found.by, host, ports: found.ports ?? [], signal };
      try {
        const { kind } = await this.#runtime.start(id, call);
        if (kind === 'done') mark('instance-started-again');
        return kind === 'done';
      } catch (error) {
        diskFailure(error);
        return false;
      }
    });
  }

  async #serialize<T>(instance: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(instance) ?? Promise.resolve();
    const turn = before.then(work, work);
    this.#queues.set(instance, turn);
    try {
      return await turn;
    } finally {
      if (this.#queues.get(instance) === turn) this.#queues.delete(instance);
    }
  }

  async #tryPerform(work: RunningTask): Promise<TaskResult> {
    try {
      await this.#runtime.open();
    } catch (error) {
      // What runs here is unknown: nothing is reported of it either.
      return toFailure(diskFailure(error));
    }
    const performed = await this.#tryCarryOut(work);
    if (performed.outcome === 'done') return performed;
    const found = this.#runtime.instance(work.parsed.args.instance);
    return { ...performed, facts: { ...performed.facts, runs: runsFor(work.parsed, found) } };
  }

  async #tryCarryOut(work: RunningTask): Promise<TaskResult> {
    try {
      const beyond = findUnsupported(work.parsed, work.fence.serviceVersion);
      if (beyond !== undefined) {
        mark('agent-too-old-for-task');
        return toFailure(runtimeFailed('unsupported', beyond));
      }
      return this.#findOutcome(work) ?? (await this.#carryOut(work));
    } catch (error) {
      return toFailure(diskFailure(error));
    }
  }

  async #carryOut({ task, parsed, fence }: RunningTask): Promise<TaskResult> {
    const connected = await this.#connect(parsed, fence);
    if (connected.kind === 'failed') return failPorts(connected);
    if (fence.signal.aborted) return toFailure(CUT_SHORT);
    const { ports } = connected;
    const call = { task: task.id, host: fence.host, ports, signal: fence.signal };
    const result = await this.#callRuntime(parsed, call);
    const released = await this.#release(parsed, fence);
    if (result.kind === 'failed') return toFailure(result);
    return released.kind === 'failed' ? failPorts(released) : succeed({ ports, facts: result.facts });
  }

  /** The end that is known without doing anything: it is done already, or it cannot be done. */
  #findOutcome({ task, parsed }: RunningTask): TaskResult | undefined {
    const found = this.#runtime.instance(parsed.args.instance);
    switch (parsed.task) {
      case 'build':
        if (found?.by === task.id && wasStarted(found)) {
          mark('task-already-done');
          return succeed(found);
        }
        return this.#checkCapacity(parsed.args);
      case 'prepare':
        if (found?.by === task.id && found.state !== 'running') return succeed(found);
        if (found?.state === 'running' || found?.state === 'received') return toFailure(failExists(found));
        return this.#checkCapacity(parsed.args);
      case 'migrate':
        return checkMigration(parsed.args, found);
      case 'activate':
        return checkActivation(parsed.args, found, task.id);
      case 'start':
      case 'stop':
        return checkPower(parsed.args.instance, found, parsed.task === 'start' ? 'running' : 'stopped');
      case 'destroy':
        return undefined;
    }
  }

  #checkCapacity(args: BuildArgs): TaskResult | undefined {
    const short = this.#runtime.findShortage(args.instance, args);
    return short.length === 0 ? undefined : toFailure(failShortage(short));
  }

  #connect(order: ParsedInstanceTask, { host, signal }: TaskFence): Promise<PortsResult> {
    const { mode, nics } = portWorkOf(order);
    return this.#ports.connect(mode, { host, instance: order.args.instance, nics, signal });
  }

  #callRuntime(
    { task, args }: ParsedInstanceTask,
    call: Parameters<InstanceRuntime['build']>[1],
  ): Promise<RuntimeResult> {
    const { instance: id } = args;
    switch (task) {
      case 'build':
        return this.#runtime.build(specOf(args), call);
      case 'prepare':
        return this.#runtime.prepare(specOf(args), call);
      case 'migrate':
        return this.#runtime.migrate({ id, target: args.target, move: args.kind, handover: args.handover }, call);
      case 'activate':
        return this.#runtime.activate({ id, nics: args.nics, move: args.kind }, call);
      case 'start':
        return this.#runtime.start(id, call);
      case 'stop':
        return this.#runtime.stop(id, call);
      case 'destroy':
        return this.#runtime.destroy(id, call);
    }
  }

  /** After the instance is gone, never before: nothing may run with an address that another port has. */
  #release(order: ParsedInstanceTask, { host, signal }: TaskFence): Promise<PortsResult> {
    const { instance } = order.args;
    const isGone = order.task === 'destroy' && this.#runtime.instance(instance) === undefined;
    const own = isGone && order.args.ports === 'delete-own' ? order.args.nics : [];
    return this.#ports.release({ host, instance, nics: own, signal });
  }
}

function specOf({ instance: id, image, vcpus, memoryMiB, diskGiB, nics, kind: move }: BuildArgs): InstanceSpec {
  return { id, image, vcpus, memoryMiB, diskGiB, nics, move };
}

function checkMigration({ instance, target }: MigrateArgs, found: RuntimeInstance | undefined): TaskResult | undefined {
  switch (found?.state) {
    case 'running':
      return undefined;
    case 'sent':
      return found.target === target ? succeed({}) : toFailure(failSent(found));
    case undefined:
      return toFailure(failNotHere(instance));
    default:
      return toFailure(runtimeFailed('not-running', `instance ${instance} does not run on this host`));
  }
}

function checkActivation(
  { instance }: ActivateArgs,
  found: RuntimeInstance | undefined,
  task: string,
): TaskResult | undefined {
  if (found === undefined) return toFailure(failNotPrepared(instance));
  return found.by === task && wasStarted(found) ? succeed(found) : undefined;
}

/**
 * What is left of it here, for whoever decides what comes next. After a build, one that ended by itself counts: it has its disk, and is to be
 * destroyed as one that runs. A migration waits until it runs again.
 */
function runsFor({ task }: ParsedInstanceTask, found: RuntimeInstance | undefined): boolean {
  if (found === undefined) return false;
  return task === 'build' ? wasStarted(found) : found.state === 'running';
}

/** It runs, or did until it ended by itself: what a task had to do for that was done. */
function wasStarted({ state }: RuntimeInstance): boolean {
  return state === 'running' || state === 'ended';
}

function checkPower(
  id: string,
  found: RuntimeInstance | undefined,
  wanted: RuntimeInstance['state'],
): TaskResult | undefined {
  if (found === undefined) return toFailure(failNotHere(id));
  if (found.state === 'sent') return toFailure(failSent(found));
  if (found.state === 'prepared' || found.state === 'received')
    return toFailure(runtimeFailed('not-activated', `instance ${id} is only expected on this host`));
  return found.state === wanted ? succeed({}) : undefined;
}

function succeed({ ports = [], facts }: { ports?: readonly PortFact[]; facts?: RuntimeFacts | undefined }): TaskResult {
  const reported = { ...facts, ...(ports.length > 0 && { ports }) };
  return { outcome: 'done', ...(Object.keys(reported).length > 0 && { facts: reported }) };
}

function toFailure({ fault, problem }: RuntimeFailure): TaskResult {
  return { outcome: 'failed', problems: [problem], facts: { fault } };
}

function diskFailure(error: unknown): RuntimeFailure {
  if (!(error instanceof DiskFailed)) throw error;
  return runtimeFailed(error.code, error.message);
}

function failPorts({ fault, problem, pool }: Extract<PortsResult, { kind: 'failed' }>): TaskResult {
  return { outcome: 'failed', problems: [problem], facts: { fault, ...(pool !== undefined && { pool }) } };
}
