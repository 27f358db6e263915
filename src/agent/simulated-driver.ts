// A machine that is not there. It remembers what it was told, takes its time, and fails when it is asked to. What it
// holds outlives the agent, as a machine does.
import type { Clock } from '../journal/index.ts';
import {
  readDataplaneView,
  interfaceOf,
  findStrayPorts,
  SwitchDown,
  type ConntrackImport,
  type SubnetView,
  type Switch,
  type TrackedConnection,
} from '../dataplane/index.ts';
import type { Condition } from '../hosts/index.ts';
import type { HostNetwork } from '../network/index.ts';
import type { Task } from '../operations/index.ts';
import { digestOf } from './digest.ts';
import { HypervisorTasks } from './hypervisor-tasks.ts';
import { isInstanceTask } from './instance-order.ts';
import { STRAYS_MAX, type UnreadyService, type View } from './messages.ts';
import type { PacketDesk } from './packet-desk.ts';
import { DiskFailed, type Applied, type Fence, type Inspected, type LocalDriver, type Performed } from './ports.ts';
import { SimulatedHypervisor, type HypervisorOptions } from './simulated-hypervisor.ts';
import { SwitchLine } from './switch-line.ts';

/** Enough to know where to look. */
const STRAYS_TOLD_MAX = 20;

/** What the hypervisor of a machine is made with lies here too, unless one is handed in. */
export interface SimulatedMachine extends HypervisorOptions {
  readonly clock: Clock;
  /** How long everything takes, beside what a task takes by itself. */
  readonly delayMs?: number;
  readonly facts?: Readonly<Record<string, unknown>>;
  /** What preflight finds wrong; nothing by default. Asked each time: a machine can be mended. */
  readonly preflight?: () => readonly string[];
  /** Why a view cannot be applied now; nothing by default. */
  readonly obstacles?: () => readonly string[];
  /** Why a service cannot be prepared here now; every service can by default. Other services are not held up by it. */
  readonly unpreparable?: (service: string) => string | undefined;
  /** Tasks of other kinds, or instead of the machine's own, by kind. */
  readonly tasks?: Readonly<Record<string, (task: Task) => Performed | Promise<Performed>>>;
  /** What runs there, when it is to outlive this driver. */
  readonly hypervisor?: SimulatedHypervisor;
  /** The host's own access to networks, for hosts that make or bind ports themselves. */
  readonly network?: HostNetwork;
  /** Its switch, which outlives this driver. Without one there is nothing to bring in line, and nothing to wipe. */
  readonly switch?: Switch;
  /** Told of the subnets of every view, for instances that are plugged in for real. */
  readonly learn?: (subnets: readonly SubnetView[]) => void;
  /** The packets of its switch, where there are any. */
  readonly packets?: PacketDesk;
}

export class SimulatedDriver implements LocalDriver {
  /** What runs there. Arm it with failures. */
  readonly hypervisor: SimulatedHypervisor;
  readonly #machine: SimulatedMachine;
  readonly #tasks: HypervisorTasks;
  readonly #line: SwitchLine | undefined;
  #parts: string | undefined;
  /** Instances that the last view knows of; undefined while no view has said anything of instances. */
  #known: ReadonlySet<string> | undefined;
  /** The interfaces of the last view's ports. */
  #interfaces: readonly string[] = [];
  #changes = 0;
  #remembers = false;

  constructor(machine: SimulatedMachine) {
    const { clock, network, hypervisor = new SimulatedHypervisor(machine) } = machine;
    this.hypervisor = hypervisor;
    this.#machine = machine;
    this.#line = machine.switch === undefined ? undefined : new SwitchLine(machine.switch, machine.packets?.around);
    this.#tasks = new HypervisorTasks({ hypervisor, clock, network });
  }

  /** How often the machine was really changed. */
  get changes(): number {
    return this.#changes;
  }

  async apply(view: View, signal: AbortSignal): Promise<Applied> {
    const wipes = this.#line?.wipes;
    this.#known = knownIn(view);
    this.#interfaces = (readDataplaneView(view.host, view.parts)?.ports ?? []).map(({ id }) => interfaceOf(id));
    this.#learn(view);
    const wanted = digestOf(view.parts);
    if (wanted !== this.#parts) {
      await this.#takeTime(signal);
      const problems = this.#machine.obstacles?.() ?? [];
      if (problems.length > 0) return { kind: 'failed', problems };
    }
    await this.#remember();
    // The same view says nothing of whether the switch still holds what it should.
    const lined = (await this.#line?.follow(view, wipes)) ?? { kind: 'already' as const };
    this.#followPackets(view);
    if (lined.kind === 'failed') return lined;
    const unready = [...(lined.unready ?? []), ...this.#unpreparable(view)];
    const isChanged = wanted !== this.#parts || lined.kind === 'applied';
    this.#parts = wanted;
    if (isChanged) this.#changes += 1;
    return { kind: isChanged ? 'applied' : 'already', ...(unready.length > 0 && { unready }) };
  }

  #unpreparable({ host, parts }: View): UnreadyService[] {
    const { unpreparable } = this.#machine;
    if (unpreparable === undefined) return [];
    const services = readDataplaneView(host, parts)?.services ?? [];
    return services.flatMap(({ id, role }) => {
      const because = role === 'preparing' ? unpreparable(id) : undefined;
      return because === undefined ? [] : [{ service: id, because }];
    });
  }

  /** Once, before anything is changed: what an agent before this one found out is on the switch. */
  async #remember(): Promise<void> {
    const { packets, switch: of } = this.#machine;
    if (packets === undefined || of === undefined || this.#remembers) return;
    try {
      packets.remember(await of.read());
      this.#remembers = true;
    } catch (error) {
      if (!(error instanceof SwitchDown)) throw error;
    }
  }

  /** Next hops are asked for by the flows of this view, whether all that it wants can be had yet or not. */
  #followPackets({ host, parts }: View): void {
    const shown = readDataplaneView(host, parts);
    if (shown !== undefined) this.#machine.packets?.follow(shown);
  }

  onChanged(changed: () => void): () => void {
    const { packets, switch: of } = this.#machine;
    const stops = [packets?.onChange(changed), of?.onChanged?.(changed)];
    return () => {
      for (const stop of stops) stop?.();
    };
  }

  onHearing(listener: () => void): () => void {
    return this.#machine.switch?.onBfdChange?.(listener) ?? (() => undefined);
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#machine.packets?.run(signal);
  }

  #learn({ host, parts }: View): void {
    const domains = readDataplaneView(host, parts)?.networks.domains ?? [];
    this.#machine.learn?.(domains.flatMap(({ subnets }) => subnets));
  }

  async isInLine(view: View): Promise<boolean> {
    return (await this.#line?.isFollowed(view)) ?? true;
  }

  /** What the fleet does not know is not left behind without a word. */
  async #refuseToLeave({ args }: Task): Promise<Performed | undefined> {
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
  async #leave(): Promise<Performed> {
    this.#parts = undefined;
    const lined = await this.#line?.wipe();
    return lined?.kind === 'failed' ? { outcome: 'failed', problems: lined.problems } : { outcome: 'done' };
  }

  async connectionsOf(service: string): Promise<readonly TrackedConnection[]> {
    return (await this.#line?.connectionsOf(service)) ?? [];
  }

  async takeOver(service: string, connections: readonly TrackedConnection[]): Promise<ConntrackImport> {
    return (
      (await this.#line?.takeOver(service, connections)) ?? { imported: 0, present: 0, failed: connections.length }
    );
  }

  async forgetConnections(service: string): Promise<void> {
    await this.#line?.forgetConnections(service);
  }

  async unheardPeers(): Promise<readonly string[] | undefined> {
    return this.#machine.switch?.bfdDownPeers();
  }

  async conditions(): Promise<readonly Condition[]> {
    const trouble = await this.#machine.switch?.probe?.();
    const unreadable = await this.#unreadable();
    return [
      ...(trouble === undefined ? [] : [{ type: 'switch' as const, ...trouble }]),
      ...(unreadable === undefined
        ? []
        : [{ type: 'instance-runtime' as const, code: 'state-unreadable', message: unreadable }]),
    ];
  }

  async perform(task: Task, fence: Fence): Promise<Performed> {
    await this.#takeTime(fence.signal);
    const known = this.#machine.tasks?.[task.kind];
    if (known !== undefined) return known(task);
    if (isInstanceTask(task.kind)) return this.#tasks.perform(task, fence);
    if (task.kind === 'leave') return (await this.#refuseToLeave(task)) ?? this.#leave();
    if (task.kind !== 'preflight') return { outcome: 'failed', problems: [`this agent cannot do "${task.kind}"`] };
    const problems = this.#machine.preflight?.() ?? [];
    return problems.length === 0 ? { outcome: 'done' } : { outcome: 'failed', problems };
  }

  async inspect(): Promise<Inspected> {
    const gaps = this.#line?.gaps ?? [];
    const ownFacts = { ...(this.#machine.facts ?? { driver: 'simulated' }), ...(gaps.length > 0 && { gaps }) };
    const identity = await this.#identity();
    if ((await this.#unreadable()) !== undefined) return { facts: ownFacts, strays: [], ...identity };
    const strays = await this.#strays();
    const facts = {
      ...ownFacts,
      instances: this.hypervisor.count('running'),
      // The list is cut, the number is not.
      ...(strays.length > STRAYS_MAX && { strays: strays.length }),
    };
    return { facts, strays: strays.slice(0, STRAYS_MAX), ...identity };
  }

  /** Nothing is said of a switch that does not answer. */
  async #identity(): Promise<Pick<Inspected, 'switch'>> {
    const { switch: of } = this.#machine;
    if (of === undefined) return {};
    try {
      return { switch: await of.identity() };
    } catch (error) {
      if (error instanceof SwitchDown) return {};
      throw error;
    }
  }

  /** Why the machine's disk does not say what runs: then nothing is said of it. */
  async #unreadable(): Promise<string | undefined> {
    try {
      await this.hypervisor.open();
      return undefined;
    } catch (error) {
      if (error instanceof DiskFailed) return error.message;
      throw error;
    }
  }

  /** What is there and in no view. It is told, never touched. */
  async #strays(): Promise<string[]> {
    const known = this.#known;
    if (known === undefined) return [];
    const { instances } = this.hypervisor;
    const explained = new Set(instances.flatMap(({ nics }) => nics.map(({ port }) => interfaceOf(port))));
    return [
      ...instances.flatMap(({ id }) => (known.has(id) ? [] : [`instance/${id}`])),
      ...(await this.#strayPorts(new Set([...explained, ...this.#interfaces]))),
    ];
  }

  /** Nothing is said of a switch that does not answer. */
  async #strayPorts(explained: ReadonlySet<string>): Promise<string[]> {
    const { switch: of } = this.#machine;
    if (of?.interfaces === undefined) return [];
    try {
      const [interfaces, { flows }] = [await of.interfaces(), await of.read()];
      return findStrayPorts({ interfaces, flows }, explained);
    } catch (error) {
      if (error instanceof SwitchDown) return [];
      throw error;
    }
  }

  async #takeTime(signal: AbortSignal): Promise<void> {
    const { clock, delayMs = 0 } = this.#machine;
    if (delayMs > 0) await clock.sleep(delayMs, signal);
  }
}

/** Those that are there, those on their way, and those that a task is about. */
function knownIn({ parts, tasks }: View): ReadonlySet<string> | undefined {
  const part: unknown = parts['instances'];
  if (!Array.isArray(part)) return undefined;
  const ids = [...part.map((one: unknown) => idIn(one, 'id')), ...tasks.map(({ args }) => idIn(args, 'instance'))];
  return new Set(ids.filter((id) => id !== undefined));
}

function idIn(thing: unknown, field: string): string | undefined {
  const id = typeof thing === 'object' && thing !== null ? (thing as Record<string, unknown>)[field] : undefined;
  return typeof id === 'string' ? id : undefined;
}
