// Tasks for simulated machines, and the host's side of a network that records its calls.
import {
  NetworkUnavailable,
  type HostNetworkRequest,
  type HostNetwork,
  type PortAnswer,
} from '../../../network/index.ts';
import type { Task, TaskFence, TaskResult } from '../../../operations/index.ts';
import type { TaskNic } from './instance-task-args.ts';
import { SimulatedNodeDriver, type SimulatedNodeOptions } from '../../simulation/simulated-node.ts';
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';

export const AMOUNTS = { vcpus: 2, memoryMiB: 2048, diskGiB: 20 };

export function nic(port: string, facts: Partial<TaskNic> = {}): TaskNic {
  return {
    port,
    nic: 0,
    network: 'net-1',
    backEnd: 'simulated',
    mac: 'fa:16:3e:00:00:01',
    addresses: [],
    serial: 1,
    createdBy: 'muster',
    ...facts,
  };
}

export const build = (instance: string, facts: object = {}): Task['args'] => ({
  instance,
  ...AMOUNTS,
  network: 'ready',
  nics: [],
  ...facts,
});

export const destroy = (instance: string, facts: object = {}): Task['args'] => ({
  instance,
  nics: [],
  ports: 'leave',
  ...facts,
});

export const migrate = (instance: string, facts: object = {}): Task['args'] => ({
  instance,
  target: 'h2',
  kind: 'live',
  ...facts,
});

export const activate = (instance: string, facts: object = {}): Task['args'] => ({ instance, nics: [], ...facts });

type NetworkCall = 'create' | 'bind' | 'release';

/** A back end that makes what it is ordered, gives one address per bind, and has faults that can be armed. */
export class RecordingNetwork implements HostNetwork {
  readonly calls: string[] = [];
  readonly made = new Set<string>();
  /** What a port answers instead of success. */
  readonly answers = new Map<string, PortAnswer>();
  /** So many calls get no answer. */
  silent = 0;

  create(request: HostNetworkRequest): Promise<readonly PortAnswer[]> {
    return this.#recordCall('create', request, (port) => void this.made.add(port));
  }

  bind(request: HostNetworkRequest): Promise<readonly PortAnswer[]> {
    return this.#recordCall('bind', request, (port) => {
      if (!this.made.has(port)) return { port, outcome: 'not-found' };
      return { port, outcome: 'ok', type: 'ovs', addresses: [{ ip: '10.0.0.9', subnet: 'sub-1' }] };
    });
  }

  release(request: HostNetworkRequest): Promise<readonly PortAnswer[]> {
    return this.#recordCall('release', request, (port) => void this.made.delete(port));
  }

  async #recordCall(
    call: NetworkCall,
    { host, instance, nics }: HostNetworkRequest,
    effect: (port: string) => PortAnswer | undefined,
  ): Promise<readonly PortAnswer[]> {
    this.calls.push(`${call} ${instance}@${host} ${nics.map(({ port, serial }) => `${port}.${serial}`).join(' ')}`);
    if (this.silent > 0) {
      this.silent -= 1;
      throw new NetworkUnavailable('the network does not answer');
    }
    return nics.map(({ port }) => this.answers.get(port) ?? effect(port) ?? { port, outcome: 'ok' });
  }
}

/** A machine and its clock; tasks are performed at once, however long they take. */
export class InstanceTasksHarness {
  readonly clock = new VirtualClock();
  readonly driver: SimulatedNodeDriver;
  #tasks = 0;

  constructor(machine: Omit<SimulatedNodeOptions, 'clock'> = {}) {
    this.driver = new SimulatedNodeDriver({ clock: this.clock, ...machine });
  }

  get running(): string[] {
    return this.driver.hypervisor.instances.map(({ id, state }) => `${id} ${state}`);
  }

  /** Begins a task; time stands still. */
  begin(
    kind: string,
    args: Task['args'],
    options: { readonly id?: string } & Partial<TaskFence> = {},
  ): Promise<TaskResult> {
    const { id = `task-${(this.#tasks += 1)}`, ...rest } = options;
    const stamp = { journalId: 'j1', leaseEpoch: 1, revision: 1 };
    const fence = { stamp, host: 'h1', serviceVersion: 3, signal: new AbortController().signal, ...rest };
    return this.driver.perform({ id, kind, args }, fence);
  }

  /** Performs a task to its end. */
  async perform(...args: Parameters<InstanceTasksHarness['begin']>): Promise<TaskResult & { readonly tookMs: number }> {
    const fromMs = this.clock.nowMs();
    const ends: { performed?: TaskResult } = {};
    void this.begin(...args).then((performed) => void (ends.performed = performed));
    await this.clock.until('the task ended', () => ends.performed !== undefined);
    return { ...(ends.performed ?? { outcome: 'failed' }), tookMs: this.clock.nowMs() - fromMs };
  }
}
