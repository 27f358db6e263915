// Carries out the tasks that concern instances, on a simulated hypervisor. Each may be performed again after a crash and
// finds its work done; tasks of one instance follow one another, so that a build that is under way cannot outlive the
// order to destroy it.
import { mark } from '../../../fleet/index.ts';
import type { Clock } from '../../../journal/index.ts';
import type { HostNetwork } from '../../../network/index.ts';
import type { Task } from '../../../operations/index.ts';
import { HostPorts, type PortFact, type PortsResult } from './host-ports.ts';
import {
  findUnsupported,
  parseInstanceTask,
  portWorkOf,
  type ActivateArgs,
  type BuildArgs,
  type ParsedInstanceTask,
  type MigrateArgs,
} from './instance-task-args.ts';
import { DiskFailed, type TaskFence, type TaskResult } from '../ports.ts';
import type { RuntimeInstance, SimulatedRuntime, InjectedTaskFault } from './simulated-runtime.ts';
import { durationMs } from './task-durations.ts';

export interface InstanceTasksParts {
  readonly runtime: SimulatedRuntime;
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
  readonly #runtime: SimulatedRuntime;
  readonly #clock: Clock;
  readonly #ports: HostPorts;
  /** The last task of each instance that has one under way. */
  readonly #queues = new Map<string, Promise<unknown>>();

  constructor({ runtime, clock, network }: InstanceTasksParts) {
    this.#runtime = runtime;
    this.#clock = clock;
    this.#ports = new HostPorts(network, clock);
  }

  async perform(task: Task, fence: TaskFence): Promise<TaskResult> {
    const parsed = parseInstanceTask(task);
    if (!('task' in parsed)) return { outcome: 'failed', problems: parsed, facts: { fault: 'unsupported' } };
    const { instance } = parsed.args;
    const performed = await this.#serialize(instance, () => this.#tryCarryOut({ task, parsed, fence }));
    if (performed.outcome === 'done') return performed;
    // Whoever decides what comes next has to know what is left here.
    const runs = this.#runtime.instance(instance)?.state === 'running';
    return { ...performed, facts: { ...performed.facts, runs } };
  }

  async #serialize(instance: string, work: () => Promise<TaskResult>): Promise<TaskResult> {
    const before = this.#queues.get(instance) ?? Promise.resolve();
    const turn = before.then(work, work);
    this.#queues.set(instance, turn);
    try {
      return await turn;
    } finally {
      if (this.#queues.get(instance) === turn) this.#queues.delete(instance);
    }
  }

  async #tryCarryOut(work: RunningTask): Promise<TaskResult> {
    try {
      await this.#runtime.load();
      const beyond = findUnsupported(work.parsed, work.fence.serviceVersion);
      if (beyond !== undefined) {
        mark('agent-too-old-for-task');
        return fail('unsupported', beyond);
      }
      return this.#checkPreconditions(work) ?? (await this.#carryOut(work));
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      return fail('disk-failed', error.message);
    }
  }

  async #carryOut(work: RunningTask): Promise<TaskResult> {
    const { parsed, fence } = work;
    await this.#simulateDuration(parsed, fence.signal);
    if (fence.signal.aborted) return failStopped();
    const connected = await this.#connect(parsed, fence);
    if (connected.kind === 'failed') return failPorts(connected);
    const trouble = await this.#takeFault(parsed, fence);
    if (fence.signal.aborted) return failStopped();
    const failure = trouble?.fault === undefined ? undefined : fail(trouble.fault, trouble.problem ?? trouble.fault);
    if (failure !== undefined && trouble?.after !== true) return failure;
    // Time has passed: another instance may have taken the room.
    const late = this.#checkPreconditions(work);
    if (late !== undefined) return late;
    const refused = await this.#changeRuntime(work, connected.ports);
    if (refused !== undefined) return refused;
    await this.#runtime.save();
    const released = await this.#release(parsed, fence);
    if (failure !== undefined) return failure;
    return released.kind === 'failed' ? failPorts(released) : succeed(connected.ports);
  }

  async #takeFault(
    { task, args }: ParsedInstanceTask,
    { host, signal }: TaskFence,
  ): Promise<InjectedTaskFault | undefined> {
    const trouble = this.#runtime.takeFault({ task, instance: args.instance, host });
    if (trouble?.delayMs !== undefined) await this.#clock.sleep(trouble.delayMs, signal);
    return trouble;
  }

  /** The end that is known without doing anything: it is done already, or it cannot be done. */
  #checkPreconditions({ task, parsed }: RunningTask): TaskResult | undefined {
    const found = this.#runtime.instance(parsed.args.instance);
    switch (parsed.task) {
      case 'build':
        if (found?.by === task.id && found.state === 'running') {
          mark('task-found-done');
          return succeed(found.ports);
        }
        return this.#checkCapacity(parsed.args);
      case 'prepare':
        // It may be the only one there is: to prepare for another copy would be to destroy it.
        if (found?.state === 'running') return fail('instance-exists', `instance ${found.id} runs on this host`);
        return found?.by === task.id ? succeed(found.ports) : this.#checkCapacity(parsed.args);
      case 'migrate':
        return this.#checkMigration(parsed.args, found);
      case 'activate':
        if (found === undefined) return fail('not-prepared', `instance ${parsed.args.instance} is not on this host`);
        if (found.awaited === true && parsed.args.ifReceived === true)
          return fail('nothing-received', `instance ${found.id} was not sent to this host`);
        return found.by === task.id && found.state === 'running' ? succeed(found.ports) : undefined;
      case 'destroy':
        return undefined;
    }
  }

  #checkCapacity(args: BuildArgs): TaskResult | undefined {
    const short = this.#runtime.findShortage(args.instance, args);
    return short.length === 0 ? undefined : fail('resources-gone', `no room on this host: ${short.join('; ')}`);
  }

  #checkMigration({ instance, target }: MigrateArgs, found: RuntimeInstance | undefined): TaskResult | undefined {
    if (found?.state === 'running') return undefined;
    if (found !== undefined) return fail('not-running', `instance ${instance} does not run on this host`);
    const sent = this.#runtime.sentTo(instance);
    if (sent === target) return { outcome: 'done' };
    const where = sent === undefined ? '' : `: it was sent to ${sent}`;
    return fail('instance-gone', `instance ${instance} is not on this host${where}`);
  }

  async #simulateDuration({ task, args }: ParsedInstanceTask, signal: AbortSignal): Promise<void> {
    const found = this.#runtime.instance(args.instance);
    if (task === 'destroy' && found === undefined) return;
    const sizes = 'vcpus' in args ? args : found;
    const kind = 'kind' in args ? args.kind : undefined;
    const ms = durationMs(this.#runtime.durations, {
      task,
      instance: args.instance,
      ...(kind !== undefined && { kind }),
      memoryMiB: sizes?.memoryMiB ?? 0,
      diskGiB: sizes?.diskGiB ?? 0,
    });
    if (ms > 0) await this.#clock.sleep(ms, signal);
  }

  #connect(order: ParsedInstanceTask, { host, signal }: TaskFence): Promise<PortsResult> {
    const { mode, nics } = portWorkOf(order);
    return this.#ports.connect(mode, { host, instance: order.args.instance, nics, signal });
  }

  /** The failure, when it cannot be done after all. */
  async #changeRuntime({ task, parsed }: RunningTask, ports: readonly PortFact[]): Promise<TaskResult | undefined> {
    const by = { by: task.id, ...(ports.length > 0 && { ports }) };
    switch (parsed.task) {
      case 'build':
      case 'prepare': {
        const { instance: id, vcpus, memoryMiB, diskGiB, nics } = parsed.args;
        const made = { id, vcpus, memoryMiB, diskGiB, nics, ...by };
        if (parsed.task === 'build') this.#runtime.put({ ...made, state: 'running' });
        else this.#runtime.prepare(made);
        return undefined;
      }
      case 'migrate': {
        const { instance, target } = parsed.args;
        if (await this.#runtime.transferTo(instance, target)) return undefined;
        return fail('migration-failed', `host ${target} does not expect instance ${instance}`);
      }
      case 'activate':
        this.#activate(parsed.args, by);
        return undefined;
      case 'destroy':
        this.#runtime.remove(parsed.args.instance);
        return undefined;
    }
  }

  #activate({ instance, nics }: ActivateArgs, made: Pick<RuntimeInstance, 'by' | 'ports'>): void {
    const found = this.#runtime.instance(instance);
    if (found === undefined) return;
    const { id, vcpus, memoryMiB, diskGiB } = found;
    this.#runtime.put({ id, state: 'running', vcpus, memoryMiB, diskGiB, nics, ...made });
  }

  /** After the instance is gone, never before: nothing may run with an address that is somebody else's. */
  #release(order: ParsedInstanceTask, { host, signal }: TaskFence): Promise<PortsResult> {
    const own = order.task === 'destroy' && order.args.ports === 'delete-own' ? order.args.nics : [];
    return this.#ports.release({ host, instance: order.args.instance, nics: own, signal });
  }
}

function succeed(ports: readonly PortFact[] = []): TaskResult {
  return { outcome: 'done', ...(ports.length > 0 && { facts: { ports } }) };
}

function fail(fault: string, problem: string): TaskResult {
  return { outcome: 'failed', problems: [problem], facts: { fault } };
}

/** Whoever stopped the agent does not listen; the task is begun again at the next start. */
function failStopped(): TaskResult {
  return fail('cut-short', 'the agent was stopped');
}

function failPorts({ fault, problem, pool }: Extract<PortsResult, { kind: 'failed' }>): TaskResult {
  return { outcome: 'failed', problems: [problem], facts: { fault, ...(pool !== undefined && { pool }) } };
}
