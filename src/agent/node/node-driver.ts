// A machine that is not there. It remembers what it was told, takes its time, and fails when it is asked to. What it
// holds outlives the agent, as a machine does.
import type { Clock } from '../../journal/index.ts';
import {
  readDataplaneView,
  interfaceOf,
  findStrayPorts,
  SwitchDown,
  type ConntrackImport,
  type SubnetView,
  type Switch,
  type TrackedConnection,
} from '../../dataplane/index.ts';
import type { Condition } from '../../hosts/index.ts';
import type { HostNetwork } from '../../network/index.ts';
import type { Task } from '../../operations/index.ts';
import { digestOf } from '../protocol/digest.ts';
import { InstanceTasks } from './instances/instance-tasks.ts';
import { isInstanceTask } from './instances/instance-task-args.ts';
import { STRAYS_MAX, type UnreadyService, type View } from '../protocol/messages.ts';
import type { PacketResponder } from './switch/packet-responder.ts';
import {
  DiskFailed,
  type ApplyResult,
  type TaskFence,
  type Inspection,
  type LocalDriver,
  type TaskResult,
} from './ports.ts';
import { SimulatedRuntime, type SimulatedRuntimeOptions } from './instances/simulated-runtime.ts';
import { SwitchReconciler } from './switch/switch-reconciler.ts';

/** Enough to know where to look. */
const STRAYS_TOLD_MAX = 20;

/** What the hypervisor of a machine is made with lies here too, unless one is handed in. */
export interface NodeDriverOptions extends SimulatedRuntimeOptions {
  readonly clock: Clock;
  /** How long everything takes, beside what a task takes by itself. */
  readonly delayMs?: number;
  readonly facts?: Readonly<Record<string, unknown>>;
  /** What preflight finds wrong; nothing by default. Asked each time: a machine can be mended. */
  readonly preflight?: () => readonly string[];
  /** Why a view cannot be applied now; nothing by default. */
  readonly obstacles?: () => readonly string[];
  /** Why a service cannot be prepared here now; every service can by default. Other services are not held up by it. */
  readonly prepareFailureOf?: (service: string) => string | undefined;
  /** Tasks of other kinds, or instead of the machine's own, by kind. */
  readonly taskHandlers?: Readonly<Record<string, (task: Task) => TaskResult | Promise<TaskResult>>>;
  /** What runs there, when it is to outlive this driver. */
  readonly runtime?: SimulatedRuntime;
  /** The host's own access to networks, for hosts that make or bind ports themselves. */
  readonly network?: HostNetwork;
  /** Its switch, which outlives this driver. Without one there is nothing to bring in line, and nothing to wipe. */
  readonly switch?: Switch;
  /** Told of the subnets of every view, for instances that are plugged in for real. */
  readonly onSubnets?: (subnets: readonly SubnetView[]) => void;
  /** The packets of its switch, where there are any. */
  readonly responder?: PacketResponder;
}

export class NodeDriver implements LocalDriver {
  /** What runs there. Arm it with failures. */
  readonly runtime: SimulatedRuntime;
  readonly #options: NodeDriverOptions;
  readonly #instanceTasks: InstanceTasks;
  readonly #switchReconciler: SwitchReconciler | undefined;
  #appliedParts: string | undefined;
  /** Instances that the last view knows of; undefined while no view has said anything of instances. */
  #knownInstances: ReadonlySet<string> | undefined;
  /** The interfaces of the last view's ports. */
  #interfaces: readonly string[] = [];
  #changeCount = 0;
  #hasRestoredNextHops = false;

  constructor(machine: NodeDriverOptions) {
    const { clock, network, runtime = new SimulatedRuntime(machine) } = machine;
    this.runtime = runtime;
    this.#options = machine;
    this.#switchReconciler =
      machine.switch === undefined ? undefined : new SwitchReconciler(machine.switch, machine.responder?.environment);
    this.#instanceTasks = new InstanceTasks({ runtime, clock, network });
  }

  /** How often the machine was really changed. */
  get changeCount(): number {
    return this.#changeCount;
  }

  async apply(view: View, signal: AbortSignal): Promise<ApplyResult> {
    const wipes = this.#switchReconciler?.wipeCount;
    this.#knownInstances = knownInstancesIn(view);
    this.#interfaces = (readDataplaneView(view.host, view.parts)?.ports ?? []).map(({ id }) => interfaceOf(id));
    this.#publishSubnets(view);
    const wanted = digestOf(view.parts);
    if (wanted !== this.#appliedParts) {
      await this.#simulateDelay(signal);
      const problems = this.#options.obstacles?.() ?? [];
      if (problems.length > 0) return { kind: 'failed', problems };
    }
    await this.#restoreNextHops();
    // The same view says nothing of whether the switch still holds what it should.
    const lined = (await this.#switchReconciler?.reconcile(view, wipes)) ?? { kind: 'already' as const };
    this.#updateResponder(view);
    if (lined.kind === 'failed') return lined;
    const unready = [...(lined.unready ?? []), ...this.#unpreparedServices(view)];
    const isChanged = wanted !== this.#appliedParts || lined.kind === 'applied';
    this.#appliedParts = wanted;
    if (isChanged) this.#changeCount += 1;
    return { kind: isChanged ? 'applied' : 'already', ...(unready.length > 0 && { unready }) };
  }

  #unpreparedServices({ host, parts }: View): UnreadyService[] {
    const { prepareFailureOf } = this.#options;
    if (prepareFailureOf === undefined) return [];
    const services = readDataplaneView(host, parts)?.services ?? [];
    return services.flatMap(({ id, role }) => {
      const because = role === 'preparing' ? prepareFailureOf(id) : undefined;
      return because === undefined ? [] : [{ service: id, because }];
    });
  }

  /** Once, before anything is changed: what an agent before this one found out is on the switch. */
  async #restoreNextHops(): Promise<void> {
    const { responder, switch: of } = this.#options;
    if (responder === undefined || of === undefined || this.#hasRestoredNextHops) return;
    try {
      responder.restoreNextHops(await of.read());
      this.#hasRestoredNextHops = true;
    } catch (error) {
      if (!(error instanceof SwitchDown)) throw error;
    }
  }

  /** Next hops are asked for by the flows of this view, whether all that it wants can be had yet or not. */
  #updateResponder({ host, parts }: View): void {
    const shown = readDataplaneView(host, parts);
    if (shown !== undefined) this.#options.responder?.applyView(shown);
  }

  onChanged(changed: () => void): () => void {
    const { responder, switch: of } = this.#options;
    const stops = [responder?.onNextHopChange(changed), of?.onChanged?.(changed)];
    return () => {
      for (const stop of stops) stop?.();
    };
  }

  onBfdChange(listener: () => void): () => void {
    return this.#options.switch?.onBfdChange?.(listener) ?? (() => undefined);
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#options.responder?.run(signal);
  }

  #publishSubnets({ host, parts }: View): void {
    const domains = readDataplaneView(host, parts)?.networks.domains ?? [];
    this.#options.onSubnets?.(domains.flatMap(({ subnets }) => subnets));
  }

  async hasConverged(view: View): Promise<boolean> {
    return (await this.#switchReconciler?.hasConverged(view)) ?? true;
  }

  /** What the fleet does not know is not left behind without a word. */
  async #refuseLeaveWithStrays({ args }: Task): Promise<TaskResult | undefined> {
    const strays = args['force'] === true ? [] : await this.#strays();
    if (strays.length === 0) return undefined;
    const facts = { strays: strays.slice(0, STRAYS_TOLD_MAX), straysInAll: strays.length };
    return {
      outcome: 'failed',
      problems: [`there is what the fleet does not know: ${facts.strays.join(', ')}`],
      facts,
    };
  }

  /** Told to leave: everything of ours goes off the switch. Instances stay, they take tasks of their own. */
  async #leave(): Promise<TaskResult> {
    this.#appliedParts = undefined;
    const lined = await this.#switchReconciler?.wipe();
    return lined?.kind === 'failed' ? { outcome: 'failed', problems: lined.problems } : { outcome: 'done' };
  }

  async listConnections(service: string): Promise<readonly TrackedConnection[]> {
    return (await this.#switchReconciler?.listConnections(service)) ?? [];
  }

  async importConnections(service: string, connections: readonly TrackedConnection[]): Promise<ConntrackImport> {
    return (
      (await this.#switchReconciler?.importConnections(service, connections)) ?? {
        imported: 0,
        present: 0,
        failed: connections.length,
      }
    );
  }

  async forgetConnections(service: string): Promise<void> {
    await this.#switchReconciler?.forgetConnections(service);
  }

  async bfdDownPeers(): Promise<readonly string[] | undefined> {
    return this.#options.switch?.bfdDownPeers();
  }

  async conditions(): Promise<readonly Condition[]> {
    const trouble = await this.#options.switch?.probe?.();
    const unreadable = await this.#findUnreadableState();
    return [
      ...(trouble === undefined ? [] : [{ type: 'switch' as const, ...trouble }]),
      ...(unreadable === undefined
        ? []
        : [{ type: 'instance-runtime' as const, code: 'state-unreadable', message: unreadable }]),
    ];
  }

  async perform(task: Task, fence: TaskFence): Promise<TaskResult> {
    await this.#simulateDelay(fence.signal);
    const known = this.#options.taskHandlers?.[task.kind];
    if (known !== undefined) return known(task);
    if (isInstanceTask(task.kind)) return this.#instanceTasks.perform(task, fence);
    if (task.kind === 'leave') return (await this.#refuseLeaveWithStrays(task)) ?? this.#leave();
    if (task.kind !== 'preflight') return { outcome: 'failed', problems: [`this agent cannot do "${task.kind}"`] };
    const problems = this.#options.preflight?.() ?? [];
    return problems.length === 0 ? { outcome: 'done' } : { outcome: 'failed', problems };
  }

  async inspect(): Promise<Inspection> {
    const gaps = this.#switchReconciler?.gaps ?? [];
    const ownFacts = { ...(this.#options.facts ?? { driver: 'simulated' }), ...(gaps.length > 0 && { gaps }) };
    const identity = await this.#identity();
    if ((await this.#findUnreadableState()) !== undefined) return { facts: ownFacts, strays: [], ...identity };
    const strays = await this.#strays();
    const facts = {
      ...ownFacts,
      instances: this.runtime.count('running'),
      // The list is cut, the number is not.
      ...(strays.length > STRAYS_MAX && { strays: strays.length }),
    };
    return { facts, strays: strays.slice(0, STRAYS_MAX), ...identity };
  }

  /** Nothing is said of a switch that does not answer. */
  async #identity(): Promise<Pick<Inspection, 'switch'>> {
    const { switch: of } = this.#options;
    if (of === undefined) return {};
    try {
      return { switch: await of.identity() };
    } catch (error) {
      if (error instanceof SwitchDown) return {};
      throw error;
    }
  }

  /** Why the machine's disk does not say what runs: then nothing is said of it. */
  async #findUnreadableState(): Promise<string | undefined> {
    try {
      await this.runtime.load();
      return undefined;
    } catch (error) {
      if (error instanceof DiskFailed) return error.message;
      throw error;
    }
  }

  /** What is there and in no view. It is told, never touched. */
  async #strays(): Promise<string[]> {
    const known = this.#knownInstances;
    if (known === undefined) return [];
    const { instances } = this.runtime;
    const explained = new Set(instances.flatMap(({ nics }) => nics.map(({ port }) => interfaceOf(port))));
    return [
      ...instances.flatMap(({ id }) => (known.has(id) ? [] : [`instance/${id}`])),
      ...(await this.#strayPorts(new Set([...explained, ...this.#interfaces]))),
    ];
  }

  /** Nothing is said of a switch that does not answer. */
  async #strayPorts(explained: ReadonlySet<string>): Promise<string[]> {
    const { switch: of } = this.#options;
    if (of?.interfaces === undefined) return [];
    try {
      const [interfaces, { flows }] = [await of.interfaces(), await of.read()];
      return findStrayPorts({ interfaces, flows }, explained);
    } catch (error) {
      if (error instanceof SwitchDown) return [];
      throw error;
    }
  }

  async #simulateDelay(signal: AbortSignal): Promise<void> {
    const { clock, delayMs = 0 } = this.#options;
    if (delayMs > 0) await clock.sleep(delayMs, signal);
  }
}

/** Those that are there, those on their way, and those that a task is about. */
function knownInstancesIn({ parts, tasks }: View): ReadonlySet<string> | undefined {
  const part: unknown = parts['instances'];
  if (!Array.isArray(part)) return undefined;
  const ids = [...part.map((one: unknown) => idIn(one, 'id')), ...tasks.map(({ args }) => idIn(args, 'instance'))];
  return new Set(ids.filter((id) => id !== undefined));
}

function idIn(thing: unknown, field: string): string | undefined {
  const id = typeof thing === 'object' && thing !== null ? (thing as Record<string, unknown>)[field] : undefined;
  return typeof id === 'string' ? id : undefined;
}
