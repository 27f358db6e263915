// The instance runtime of a machine that is not there: it takes its time, and fails on request. What it holds lies in its
// hypervisor, which outlives the agent.
import type { ReportedCondition } from '../../../hosts/index.ts';
import type { Clock } from '../../../journal/index.ts';
import { abortWith } from '../../../link/index.ts';
import {
  CUT_SHORT,
  failCancelled,
  failExists,
  failNotHere,
  failNotPrepared,
  failNotReceived,
  failSent,
  failShortage,
  RUNTIME_DONE,
  runtimeFailed,
  type ActivateOrder,
  type InstanceRuntime,
  type InstanceSpec,
  type MigrateOrder,
  type RuntimeCall,
  type RuntimeCapacity,
  type RuntimeInstance,
  type RuntimeResult,
  handleDamage,
} from './instance-runtime.ts';
import type { SimulatedHypervisor } from './simulated-hypervisor.ts';
import { durationMs, type TaskTime } from './task-durations.ts';

export interface SimulatedRuntimeParts {
  readonly hypervisor: SimulatedHypervisor;
  readonly clock: Pick<Clock, 'sleep'>;
}

export class SimulatedRuntime implements InstanceRuntime {
  readonly #hypervisor: SimulatedHypervisor;
  readonly #clock: Pick<Clock, 'sleep'>;
  /** Migrations under way, by instance. */
  readonly #migrating = new Map<string, AbortController>();

  constructor({ hypervisor, clock }: SimulatedRuntimeParts) {
    this.#hypervisor = hypervisor;
    this.#clock = clock;
  }

  open(): Promise<void> {
    return this.#hypervisor.records.load();
  }

  /** What really ran is only in the file: the version before has most of it. */
  async recover(): Promise<void> {
    const { records } = this.#hypervisor;
    await handleDamage(this.open(), () => records.recover((previous) => previous));
  }

  get instances(): readonly RuntimeInstance[] {
    return this.#hypervisor.records.all;
  }

  instance(id: string): RuntimeInstance | undefined {
    return this.#hypervisor.instance(id);
  }

  findShortage(id: string, wanted: RuntimeCapacity): readonly string[] {
    return this.#hypervisor.findShortage(id, wanted);
  }

  build(spec: InstanceSpec, call: RuntimeCall): Promise<RuntimeResult> {
    return this.#make('build', spec, call);
  }

  prepare(spec: InstanceSpec, call: RuntimeCall): Promise<RuntimeResult> {
    return this.#make('prepare', spec, call);
  }

  #make(task: 'build' | 'prepare', spec: InstanceSpec, call: RuntimeCall): Promise<RuntimeResult> {
    const { id, vcpus, memoryMiB, diskGiB, nics, move } = spec;
    return this.#effect({ task, instance: id, kind: move, memoryMiB, diskGiB }, call, () => {
      // Time has passed: another instance may have taken the room.
      const short = this.findShortage(id, spec);
      if (short.length > 0) return failShortage(short);
      const found = this.instance(id);
      if (task === 'prepare' && found?.state === 'running') return failExists(found);
      const made = { id, vcpus, memoryMiB, diskGiB, nics, ...readOrigin(call) };
      if (task === 'build') this.#hypervisor.put({ ...made, state: 'running' });
      else this.#hypervisor.prepare(made);
      const facts = this.instance(id)?.facts;
      return facts === undefined ? RUNTIME_DONE : { kind: 'done', facts };
    });
  }

  async migrate(order: MigrateOrder, call: RuntimeCall): Promise<RuntimeResult> {
    const { id, target, move, handover } = order;
    const ended = new AbortController();
    const unlink = abortWith(ended, call.signal);
    this.#migrating.set(id, ended);
    const time = { task: 'migrate' as const, instance: id, kind: move, ...this.#sizeOf(id) };
    // Whoever cancels it at once comes before it is handed over.
    await Promise.resolve();
    const result = await this.#effect(time, { ...call, signal: ended.signal }, async () => {
      const found = this.instance(id);
      if (found?.state === 'sent') return failSent(found);
      if (found?.state !== 'running') return failNotHere(id);
      if (await this.#hypervisor.transferTo(id, target, handover)) return RUNTIME_DONE;
      return runtimeFailed('migration-failed', `host ${target} does not expect instance ${id}`);
    });
    unlink();
    this.#migrating.delete(id);
    return result === CUT_SHORT && !call.signal.aborted ? failCancelled(id) : result;
  }

  cancelMigration(id: string): void {
    this.#migrating.get(id)?.abort('cancelled');
  }

  activate({ id, nics, move }: ActivateOrder, call: RuntimeCall): Promise<RuntimeResult> {
    return this.#effect({ task: 'activate', instance: id, kind: move, ...this.#sizeOf(id) }, call, () => {
      const found = this.instance(id);
      if (found === undefined || found.state === 'sent') return failNotPrepared(id);
      if (found.state === 'prepared' && this.#hypervisor.awaitsArrivals) return failNotReceived(id);
      const { vcpus, memoryMiB, diskGiB } = found;
      this.#hypervisor.put({ id, state: 'running', vcpus, memoryMiB, diskGiB, nics, ...readOrigin(call) });
      return RUNTIME_DONE;
    });
  }

  destroy(id: string, call: RuntimeCall): Promise<RuntimeResult> {
    const time = { task: 'destroy' as const, instance: id, ...this.#sizeOf(id) };
    const found = this.instance(id);
    const takesTime = found !== undefined && found.state !== 'sent';
    const effect = (): RuntimeResult => {
      this.#hypervisor.remove(id);
      return RUNTIME_DONE;
    };
    return this.#effect(time, call, effect, takesTime);
  }

  start(id: string, call: RuntimeCall): Promise<RuntimeResult> {
    return this.#setPower('start', id, call);
  }

  stop(id: string, call: RuntimeCall): Promise<RuntimeResult> {
    return this.#setPower('stop', id, call);
  }

  #setPower(task: 'start' | 'stop', id: string, call: RuntimeCall): Promise<RuntimeResult> {
    return this.#effect({ task, instance: id, ...this.#sizeOf(id) }, call, () => {
      const found = this.instance(id);
      if (found === undefined) return failNotHere(id);
      if (found.state === 'sent') return failSent(found);
      this.#hypervisor.put({ ...found, state: task === 'start' ? 'running' : 'stopped', by: call.task });
      return RUNTIME_DONE;
    });
  }

  /** Nothing runs on a simulated machine without a record. */
  findStrays(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  onEnded(listener: (id: string) => void): () => void {
    return this.#hypervisor.onEnded(listener);
  }

  conditions(): Promise<readonly ReportedCondition[]> {
    return Promise.resolve([]);
  }

  /** It takes its time, a fault strikes before or after the effect, and the effect is on disk when this resolves. */
  async #effect(
    time: Omit<TaskTime, 'kind'> & { readonly kind?: TaskTime['kind'] | undefined },
    { host, signal }: RuntimeCall,
    effect: () => RuntimeResult | Promise<RuntimeResult>,
    takesTime = true,
  ): Promise<RuntimeResult> {
    const { task, instance, kind, memoryMiB, diskGiB } = time;
    const of = { task, instance, ...(kind !== undefined && { kind }), memoryMiB, diskGiB };
    const ms = takesTime ? durationMs(this.#hypervisor.durations, of) : 0;
    if (ms > 0) await this.#clock.sleep(ms, signal);
    if (signal.aborted) return CUT_SHORT;
    const injected = this.#hypervisor.takeFault({ task, instance, host });
    if (injected?.delayMs !== undefined) await this.#clock.sleep(injected.delayMs, signal);
    if (signal.aborted) return CUT_SHORT;
    const { fault, problem = fault ?? '', after = false } = injected ?? {};
    const failure = fault === undefined ? undefined : runtimeFailed(fault, problem);
    if (failure !== undefined && !after) return failure;
    const result = await effect();
    if (result.kind === 'failed') return result;
    await this.#hypervisor.records.save();
    return failure ?? result;
  }

  #sizeOf(id: string): Pick<RuntimeCapacity, 'memoryMiB' | 'diskGiB'> {
    const { memoryMiB = 0, diskGiB = 0 } = this.instance(id) ?? {};
    return { memoryMiB, diskGiB };
  }
}

function readOrigin({ task, ports }: RuntimeCall): Pick<RuntimeInstance, 'by' | 'ports'> {
  return { by: task, ...(ports.length > 0 && { ports }) };
}
