// Carries out the tasks that concern instances, on a simulated hypervisor. Each may be performed again after a crash and
// finds its work done; tasks of one instance follow one another, so that a build that is under way cannot outlive the
// order to destroy it.
import { mark } from '../fleet/index.ts';
import type { Clock } from '../journal/index.ts';
import type { HostNetwork } from '../network/index.ts';
import type { Task } from '../operations/index.ts';
import { HostPorts, type PortFact, type PortsDone } from './host-ports.ts';
import {
  beyondVersion,
  orderOf,
  portsIn,
  type ActivateOrder,
  type BuildOrder,
  type InstanceOrder,
  type MigrateOrder,
} from './instance-order.ts';
import { DiskFailed, type Fence, type Performed } from './ports.ts';
import type { MachineInstance, SimulatedHypervisor, TaskTrouble } from './simulated-hypervisor.ts';
import { durationMs } from './task-durations.ts';

export interface HypervisorTasksParts {
  readonly hypervisor: SimulatedHypervisor;
  readonly clock: Clock;
  /** The host's own access to networks; older hosts need it. */
  readonly network?: HostNetwork | undefined;
}

/** One task under way. */
interface Work {
  readonly task: Task;
  readonly order: InstanceOrder;
  readonly fence: Fence;
}

export class HypervisorTasks {
  readonly #machine: SimulatedHypervisor;
  readonly #clock: Clock;
  readonly #ports: HostPorts;
  /** The last task of each instance that has one under way. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor({ hypervisor, clock, network }: HypervisorTasksParts) {
    this.#machine = hypervisor;
    this.#clock = clock;
    this.#ports = new HostPorts(network, clock);
  }

  async perform(task: Task, fence: Fence): Promise<Performed> {
    const order = orderOf(task);
    if (!('task' in order)) return { outcome: 'failed', problems: order, facts: { fault: 'unsupported' } };
    const { instance } = order.args;
    const performed = await this.#inTurn(instance, () => this.#tryCarryOut({ task, order, fence }));
    if (performed.outcome === 'done') return performed;
    // Whoever decides what comes next has to know what is left here.
    const runs = this.#machine.instance(instance)?.state === 'running';
    return { ...performed, facts: { ...performed.facts, runs } };
  }

  async #inTurn(instance: string, work: () => Promise<Performed>): Promise<Performed> {
    const before = this.#turns.get(instance) ?? Promise.resolve();
    const turn = before.then(work, work);
    this.#turns.set(instance, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(instance) === turn) this.#turns.delete(instance);
    }
  }

  async #tryCarryOut(work: Work): Promise<Performed> {
    try {
      await this.#machine.open();
      const beyond = beyondVersion(work.order, work.fence.serviceVersion);
      if (beyond !== undefined) {
        mark('agent-too-old-for-task');
        return failed('unsupported', beyond);
      }
      return this.#settled(work) ?? (await this.#carryOut(work));
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      return failed('disk-failed', error.message);
    }
  }

  async #carryOut(work: Work): Promise<Performed> {
    const { order, fence } = work;
    await this.#takeTime(order, fence.signal);
    if (fence.signal.aborted) return cutShort();
    const connected = await this.#connect(order, fence);
    if (connected.kind === 'failed') return portsFailed(connected);
    const trouble = await this.#trouble(order, fence);
    if (fence.signal.aborted) return cutShort();
    const failure = trouble?.fault === undefined ? undefined : failed(trouble.fault, trouble.problem ?? trouble.fault);
    if (failure !== undefined && trouble?.after !== true) return failure;
    // Time has passed: another instance may have taken the room.
    const late = this.#settled(work);
    if (late !== undefined) return late;
    const refused = await this.#change(work, connected.ports);
    if (refused !== undefined) return refused;
    await this.#machine.keep();
    const released = await this.#release(order, fence);
    if (failure !== undefined) return failure;
    return released.kind === 'failed' ? portsFailed(released) : doneWith(connected.ports);
  }

  async #trouble({ task, args }: InstanceOrder, { host, signal }: Fence): Promise<TaskTrouble | undefined> {
    const trouble = this.#machine.troubleOf({ task, instance: args.instance, host });
    if (trouble?.delayMs !== undefined) await this.#clock.sleep(trouble.delayMs, signal);
    return trouble;
  }

  /** The end that is known without doing anything: it is done already, or it cannot be done. */
  #settled({ task, order }: Work): Performed | undefined {
    const found = this.#machine.instance(order.args.instance);
    switch (order.task) {
      case 'build':
        if (found?.by === task.id && found.state === 'running') {
          mark('task-found-done');
          return doneWith(found.ports);
        }
        return this.#room(order.args);
      case 'prepare':
        // It may be the only one there is: to prepare for another copy would be to destroy it.
        if (found?.state === 'running') return failed('instance-exists', `instance ${found.id} runs on this host`);
        return found?.by === task.id ? doneWith(found.ports) : this.#room(order.args);
      case 'migrate':
        return this.#cannotMigrate(order.args, found);
      case 'activate':
        if (found === undefined) return failed('not-prepared', `instance ${order.args.instance} is not on this host`);
        if (found.awaited === true && order.args.ifReceived === true)
          return failed('nothing-received', `instance ${found.id} was not sent to this host`);
        return found.by === task.id && found.state === 'running' ? doneWith(found.ports) : undefined;
      case 'destroy':
        return undefined;
    }
  }

  #room(args: BuildOrder): Performed | undefined {
    const short = this.#machine.shortOf(args.instance, args);
    return short.length === 0 ? undefined : failed('resources-gone', `no room on this host: ${short.join('; ')}`);
  }

  #cannotMigrate({ instance, target }: MigrateOrder, found: MachineInstance | undefined): Performed | undefined {
    if (found?.state === 'running') return undefined;
    if (found !== undefined) return failed('not-running', `instance ${instance} does not run on this host`);
    const sent = this.#machine.sentTo(instance);
    if (sent === target) return { outcome: 'done' };
    const where = sent === undefined ? '' : `: it was sent to ${sent}`;
    return failed('instance-gone', `instance ${instance} is not on this host${where}`);
  }

  async #takeTime({ task, args }: InstanceOrder, signal: AbortSignal): Promise<void> {
    const found = this.#machine.instance(args.instance);
    if (task === 'destroy' && found === undefined) return;
    const sizes = 'vcpus' in args ? args : found;
    const kind = 'kind' in args ? args.kind : undefined;
    const ms = durationMs(this.#machine.durations, {
      task,
      instance: args.instance,
      ...(kind !== undefined && { kind }),
      memoryMiB: sizes?.memoryMiB ?? 0,
      diskGiB: sizes?.diskGiB ?? 0,
    });
    if (ms > 0) await this.#clock.sleep(ms, signal);
  }

  #connect(order: InstanceOrder, { host, signal }: Fence): Promise<PortsDone> {
    const { mode, nics } = portsIn(order);
    return this.#ports.connect(mode, { host, instance: order.args.instance, nics, signal });
  }

  /** The failure, when it cannot be done after all. */
  async #change({ task, order }: Work, ports: readonly PortFact[]): Promise<Performed | undefined> {
    const by = { by: task.id, ...(ports.length > 0 && { ports }) };
    switch (order.task) {
      case 'build':
      case 'prepare': {
        const { instance: id, vcpus, memoryMiB, diskGiB, nics } = order.args;
        const made = { id, vcpus, memoryMiB, diskGiB, nics, ...by };
        if (order.task === 'build') this.#machine.put({ ...made, state: 'running' });
        else this.#machine.expect(made);
        return undefined;
      }
      case 'migrate': {
        const { instance, target } = order.args;
        if (await this.#machine.handOver(instance, target)) return undefined;
        return failed('migration-failed', `host ${target} does not expect instance ${instance}`);
      }
      case 'activate':
        this.#activate(order.args, by);
        return undefined;
      case 'destroy':
        this.#machine.remove(order.args.instance);
        return undefined;
    }
  }

  #activate({ instance, nics }: ActivateOrder, made: Pick<MachineInstance, 'by' | 'ports'>): void {
    const found = this.#machine.instance(instance);
    if (found === undefined) return;
    const { id, vcpus, memoryMiB, diskGiB } = found;
    this.#machine.put({ id, state: 'running', vcpus, memoryMiB, diskGiB, nics, ...made });
  }

  /** After the instance is gone, never before: nothing may run with an address that is somebody else's. */
  #release(order: InstanceOrder, { host, signal }: Fence): Promise<PortsDone> {
    const own = order.task === 'destroy' && order.args.ports === 'delete-own' ? order.args.nics : [];
    return this.#ports.release({ host, instance: order.args.instance, nics: own, signal });
  }
}

function doneWith(ports: readonly PortFact[] = []): Performed {
  return { outcome: 'done', ...(ports.length > 0 && { facts: { ports } }) };
}

function failed(fault: string, problem: string): Performed {
  return { outcome: 'failed', problems: [problem], facts: { fault } };
}

/** Whoever stopped the agent does not listen; the task is begun again at the next start. */
function cutShort(): Performed {
  return failed('cut-short', 'the agent was stopped');
}

function portsFailed({ fault, problem, pool }: Extract<PortsDone, { kind: 'failed' }>): Performed {
  return { outcome: 'failed', problems: [problem], facts: { fault, ...(pool !== undefined && { pool }) } };
}
