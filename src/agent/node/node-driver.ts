// The machine that an agent drives: its switch, its instance runtime, and what it does for tasks, by their kind. It brings the switch to
// its view, and never touches what the fleet does not know: that is reported.
import { composeTaskHandlers, type NodeModule } from '../../composition/index.ts';
import type { Clock } from '../../journal/index.ts';
import {
  readDataplaneView,
  interfaceOf,
  findStrayPorts,
  SwitchDown,
  type ConntrackImport,
  type Switch,
  type TrackedConnection,
} from '../../dataplane/index.ts';
import type { ReportedCondition } from '../../hosts/index.ts';
import type { HostNetwork } from '../../network/index.ts';
import type { Task, TaskFence, TaskHandler, TaskHandlers, TaskResult } from '../../operations/index.ts';
import { digestOf } from '../protocol/digest.ts';
import { EndedInstances } from './instances/ended-instances.ts';
import type { InstanceRuntime, RuntimeView } from './instances/instance-runtime.ts';
import { InstanceTasks } from './instances/instance-tasks.ts';
import { INSTANCE_TASKS } from './instances/instance-task-args.ts';
import { readRuntimeView } from './instances/runtime-view.ts';
import { STRAYS_MAX, type View } from '../protocol/messages.ts';
import type { PacketResponder } from './switch/packet-responder.ts';
import { StateDamaged, type ApplyResult, type Inspection, type LocalDriver } from './ports.ts';
import { DiskFailed } from '../../link/index.ts';
import { SwitchReconciler } from './switch/switch-reconciler.ts';

/** Enough to know where to look. */
const STRAYS_REPORTED_MAX = 20;
/** What kept one from being opened mostly keeps all of them. */
const BFD_PORTS_NAMED_MAX = 3;

export interface NodeDriverOptions<R extends InstanceRuntime = InstanceRuntime> {
  readonly clock: Clock;
  readonly runtime: R;
  readonly facts?: Readonly<Record<string, unknown>>;
  /** What it does for other modules than the agent. */
  readonly modules?: readonly NodeModule[] | undefined;
  /** What keeps this machine from being a host, before it joins; nothing by default. Called each time: a machine can be repaired. */
  readonly preflight?: (() => readonly string[] | Promise<readonly string[]>) | undefined;
  /** Called before another view is applied; why it cannot be applied now. */
  readonly beforeApply?: ((signal: AbortSignal) => Promise<readonly string[]>) | undefined;
  /** The host's own access to networks, for hosts that make or bind ports themselves. */
  readonly network?: HostNetwork | undefined;
  /** Its switch, which outlives this driver. Without one there is nothing to reconcile, and nothing to wipe. */
  readonly switch?: Switch | undefined;
  /** The packets of its switch, where there are any. */
  readonly responder?: PacketResponder | undefined;
}

export class NodeDriver<R extends InstanceRuntime = InstanceRuntime> implements LocalDriver {
  readonly runtime: R;
  readonly #options: NodeDriverOptions<R>;
  readonly #instanceTasks: InstanceTasks;
  readonly #endedInstances: EndedInstances;
  readonly #taskHandlers: ReadonlyMap<string, TaskHandler>;
  readonly #switchReconciler: SwitchReconciler | undefined;
  #appliedParts: string | undefined;
  /** Instances that are in the last view; undefined while no view has said anything of instances. */
  #knownInstances: ReadonlySet<string> | undefined;
  /** The interfaces of the last view's ports. */
  #interfaces: readonly string[] = [];
  #changeCount = 0;
  #hasRestoredNextHops = false;

  constructor(options: NodeDriverOptions<R>) {
    this.runtime = options.runtime;
    this.#options = options;
    this.#switchReconciler =
      options.switch === undefined ? undefined : new SwitchReconciler(options.switch, options.responder?.environment);
    this.#instanceTasks = new InstanceTasks(options);
    this.#endedInstances = new EndedInstances({ ...options, tasks: this.#instanceTasks });
    const own: NodeModule = { name: 'agent', taskHandlers: () => this.#ownTaskHandlers() };
    this.#taskHandlers = composeTaskHandlers([own, ...(options.modules ?? [])], options);
  }

  #ownTaskHandlers(): TaskHandlers {
    const perform: TaskHandler = (task, fence) => this.#instanceTasks.perform(task, fence);
    return {
      ...Object.fromEntries(INSTANCE_TASKS.map((kind) => [kind, perform])),
      leave: (task) => this.#leave(task),
      preflight: () => this.#preflight(),
    };
  }

  /** How often the machine was really changed. */
  get changeCount(): number {
    return this.#changeCount;
  }

  async apply(view: View, signal: AbortSignal): Promise<ApplyResult> {
    const wipes = this.#switchReconciler?.wipeCount;
    const runtimeView = readRuntimeView(view);
    this.#knownInstances = knownInstances(runtimeView);
    this.#interfaces = (readDataplaneView(view.host, view.parts)?.ports ?? []).map(({ id }) => interfaceOf(id));
    await this.runtime.observeView?.(runtimeView);
    const wanted = digestOf(view.parts);
    const obstacles = wanted === this.#appliedParts ? [] : ((await this.#options.beforeApply?.(signal)) ?? []);
    if (obstacles.length > 0) return { kind: 'failed', problems: obstacles };
    await this.#restoreNextHops();
    // The same view says nothing of whether the switch still holds what it should.
    const result = (await this.#switchReconciler?.reconcile(view, wipes)) ?? { kind: 'already' as const };
    this.#updateResponder(view);
    if (result.kind === 'failed') return result;
    const { unready = [] } = result;
    const isChanged = wanted !== this.#appliedParts || result.kind === 'applied';
    this.#appliedParts = wanted;
    if (isChanged) this.#changeCount += 1;
    return { kind: isChanged ? 'applied' : 'already', ...(unready.length > 0 && { unready }) };
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

  /** Next hops are requested by the flows of this view, whether all that it requires can be had yet or not. */
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

  onInstanceEnded(listener: () => void): () => void {
    return this.runtime.onEnded(listener);
  }

  async startEnded(view: View, signal: AbortSignal): Promise<number | undefined> {
    if ((await this.#openRuntime()) !== undefined) return undefined;
    if (this.runtime.instances.every(({ state }) => state !== 'ended')) return undefined;
    return this.#endedInstances.startAgain(readRuntimeView(view), { host: view.host, signal });
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#options.responder?.run(signal);
  }

  async hasConverged(view: View): Promise<boolean> {
    return (await this.#switchReconciler?.hasConverged(view)) ?? true;
  }

  async #preflight(): Promise<TaskResult> {
    const problems = (await this.#options.preflight?.()) ?? [];
    return problems.length === 0 ? { outcome: 'done' } : { outcome: 'failed', problems };
  }

  /** Ordered to leave: everything of ours goes off the switch. Instances stay, they take tasks of their own. */
  async #leave(task: Task): Promise<TaskResult> {
    const refused = await this.#refuseLeaveWithStrays(task);
    if (refused !== undefined) return refused;
    this.#appliedParts = undefined;
    const result = await this.#switchReconciler?.wipe();
    return result?.kind === 'failed' ? { outcome: 'failed', problems: result.problems } : { outcome: 'done' };
  }

  /** What the fleet does not know is not left behind without a word. */
  async #refuseLeaveWithStrays({ args }: Task): Promise<TaskResult | undefined> {
    if (args['force'] === true) return undefined;
    const failure = await this.#openRuntime();
    if (failure !== undefined)
      return { outcome: 'failed', problems: [`it is unknown which instances run here: ${failure.message}`] };
    const strays = await this.#strays();
    if (strays.length === 0) return undefined;
    const facts = { strays: strays.slice(0, STRAYS_REPORTED_MAX), straysInAll: strays.length };
    return {
      outcome: 'failed',
      problems: [`there is what the fleet does not know: ${facts.strays.join(', ')}`],
      facts,
    };
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

  async conditions(): Promise<readonly ReportedCondition[]> {
    const trouble = await this.#options.switch?.probe?.();
    const failure = await this.#refreshRuntime();
    const code = failure instanceof StateDamaged ? failure.code : 'state-unreadable';
    const unreadable = { type: 'instance-runtime' as const, code, message: failure?.message ?? '' };
    return [
      ...(trouble === undefined ? [] : [{ type: 'switch' as const, ...trouble }]),
      ...(failure === undefined ? await this.runtime.conditions() : [unreadable]),
    ];
  }

  async perform(task: Task, fence: TaskFence): Promise<TaskResult> {
    const handle = this.#taskHandlers.get(task.kind);
    return handle?.(task, fence) ?? { outcome: 'failed', problems: [`this agent cannot do "${task.kind}"`] };
  }

  async inspect(): Promise<Inspection> {
    const gaps = this.#switchReconciler?.gaps ?? [];
    const ownFacts = { ...this.#options.facts, ...(gaps.length > 0 && { gaps }) };
    const ofSwitch = { problems: this.#switchProblems(), ...(await this.#identity()) };
    if ((await this.#openRuntime()) !== undefined) return { facts: ownFacts, strays: [], ...ofSwitch };
    const strays = await this.#strays();
    // The list is cut, the number is not.
    const facts = { ...ownFacts, ...(strays.length > STRAYS_MAX && { strays: strays.length }) };
    const instances = this.runtime.instances.map(({ id, state, endedAtMs }) => ({
      ...{ id, state },
      ...(endedAtMs !== undefined && { endedAtMs }),
    }));
    return { facts, strays: strays.slice(0, STRAYS_MAX), instances, ...ofSwitch };
  }

  /** The tunnels to these peers work: only that they fail would not be noticed here, which moves nothing away from this host. */
  #switchProblems(): readonly string[] {
    const failed = this.#options.switch?.bfdPortErrors?.() ?? [];
    const named = failed.slice(0, BFD_PORTS_NAMED_MAX);
    const more = failed.length > named.length ? [`BFD does not run with ${failed.length - named.length} more`] : [];
    return [
      ...named.map(
        ({ peer, name, error }) => `BFD with ${peer} does not run: the switch could not open ${name}: ${error}`,
      ),
      ...more,
    ];
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

  /** Why the runtime does not say what runs: then nothing is said of it. */
  #openRuntime(): Promise<DiskFailed | undefined> {
    return catchDiskFailure(() => this.runtime.open());
  }

  async #refreshRuntime(): Promise<DiskFailed | undefined> {
    return (await this.#openRuntime()) ?? (await catchDiskFailure(async () => this.runtime.refresh?.()));
  }

  /** What is there and in no view. It is reported, never touched. */
  async #strays(): Promise<string[]> {
    const known = this.#knownInstances;
    if (known === undefined) return [];
    // What was sent and takes nothing here any more is only remembered.
    const instances = this.runtime.instances.filter(({ state, memoryMiB }) => state !== 'sent' || memoryMiB > 0);
    const explained = new Set(instances.flatMap(({ nics }) => nics.map(({ port }) => interfaceOf(port))));
    const ids = new Set([...instances.map(({ id }) => id), ...(await this.runtime.findStrays())]);
    return [
      ...[...ids].flatMap((id) => (known.has(id) ? [] : [`instance/${id}`])),
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
}

async function catchDiskFailure(work: () => Promise<void>): Promise<DiskFailed | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof DiskFailed) return error;
    throw error;
  }
}

/** Those that are there, those on their way, and those that a task is about. */
function knownInstances({ instances, underTask }: RuntimeView): ReadonlySet<string> | undefined {
  return instances === undefined ? undefined : new Set([...instances.map(({ id }) => id), ...underTask]);
}
