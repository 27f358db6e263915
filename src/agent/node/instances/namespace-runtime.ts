// Instances that are network namespaces: enough of a machine to send real packets, for labs and tests. Which there are is on disk;
// one that should run and does not is made again, as after a restart of the host. Only a task takes one away.
import type { ReportedCondition } from '../../../hosts/index.ts';
import type { Clock } from '../../../journal/index.ts';
import type { Disk } from '../ports.ts';
import { composeDamageError, InstanceRecords } from './instance-records.ts';
import {
  CUT_SHORT,
  failCancelled,
  failNotHere,
  failNotPrepared,
  failSent,
  RUNTIME_DONE,
  handleDamage,
  type ActivateOrder,
  type InstanceRuntime,
  type InstanceSpec,
  type MigrateOrder,
  type RuntimeCall,
  type RuntimeInstance,
  type RuntimeResult,
  type RuntimeView,
} from './instance-runtime.ts';
import { InstanceNamespaces, type InstanceNamespacesOptions } from './instance-namespaces.ts';
import { findUndisputed } from './runtime-view.ts';

export interface NamespaceRuntimeOptions extends InstanceNamespacesOptions {
  readonly clock: Pick<Clock, 'sleep' | 'nowMs'>;
  /** Where it remembers what runs. */
  readonly disk: Pick<Disk, 'read' | 'write'>;
}

export class NamespaceRuntime implements InstanceRuntime {
  readonly #namespaces: InstanceNamespaces;
  readonly #records: InstanceRecords;
  readonly #clock: Pick<Clock, 'nowMs'>;
  #view: RuntimeView | undefined;
  #opened: Promise<void> | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  /** How many are under way or waiting. */
  #changes = 0;
  readonly #endListeners = new Set<(id: string) => void>();
  /** Migrations under way or waiting; true when one was cancelled. */
  readonly #migrating = new Map<string, boolean>();

  constructor(options: NamespaceRuntimeOptions) {
    this.#namespaces = new InstanceNamespaces(options);
    this.#clock = options.clock;
    this.#records = new InstanceRecords(options.disk);
  }

  async open(): Promise<void> {
    this.#opened ??= this.#adopt();
    try {
      await this.#opened;
    } catch (error) {
      this.#opened = undefined; // what failed may be mended
      throw error;
    }
  }

  async #adopt(): Promise<void> {
    await handleDamage(this.#loadRecords(), async (damage) => {
      if (!(await this.#recoverIfViewAgrees())) throw damage;
    });
    await this.#serialize(async () => {
      for (const instance of this.#records.held) if (shouldRun(instance)) await this.#adoptOne(instance);
    });
  }

  /** It is made anew if it went with its host, or with the process before. */
  async #adoptOne(instance: RuntimeInstance): Promise<void> {
    await this.#namespaces.ensure(instance);
    this.#records.put({ ...instance, state: 'running' });
  }

  /** An agent of before may have had a file, and said nowhere that it has. */
  async #loadRecords(): Promise<void> {
    await this.#records.load();
    if (this.#records.isNew && (await this.#namespaces.list()).size > 0) throw composeDamageError('is missing');
  }

  /** What is there and was not in the version before is left alone: it is a stray. */
  async recover(): Promise<void> {
    await handleDamage(this.open(), async () => {
      const there = await this.#namespaces.list();
      await this.#records.recover((previous) =>
        previous.filter((instance) => !shouldRun(instance) || there.has(instance.id)),
      );
      await this.open();
    });
  }

  /** What really runs is what the fleet says that runs here, and no task is about any of it: then nothing was lost. */
  async #recoverIfViewAgrees(): Promise<boolean> {
    const expected = findUndisputed(this.#view, await this.#namespaces.list());
    if (expected === undefined) return false;
    await this.#records.recover((previous) => {
      const known = new Map(previous.map((instance) => [instance.id, instance]));
      return expected.map((instance) => ({ ...(known.get(instance.id) ?? instance), state: 'running' as const }));
    });
    return true;
  }

  get instances(): readonly RuntimeInstance[] {
    return this.#records.all;
  }

  instance(id: string): RuntimeInstance | undefined {
    return this.#records.get(id);
  }

  /** A namespace takes next to nothing. */
  findShortage(): readonly string[] {
    return [];
  }

  build(spec: InstanceSpec, call: RuntimeCall): Promise<RuntimeResult> {
    return this.#make(spec, call);
  }

  #make(spec: InstanceSpec, call: RuntimeCall, endedAtMs?: number): Promise<RuntimeResult> {
    return this.#serialize(async () => {
      if (call.signal.aborted) return CUT_SHORT;
      await this.#records.saveFirst();
      const before = this.#records.get(spec.id);
      // Half made by a process that ended, or of an instance that is only expected: nothing of it can be used.
      if (before?.state !== 'running' && (await this.#namespaces.list()).has(spec.id))
        await this.#namespaces.remove(spec.id);
      const made = toInstance(spec, 'running', call);
      await this.#namespaces.ensure(made);
      return this.#record({ ...made, ...(endedAtMs !== undefined && { endedAtMs }) });
    });
  }

  async prepare(spec: InstanceSpec, call: RuntimeCall): Promise<RuntimeResult> {
    return this.#record(toInstance(spec, 'prepared', call));
  }

  async migrate({ id, target }: MigrateOrder, { signal }: RuntimeCall): Promise<RuntimeResult> {
    this.#migrating.set(id, false);
    const result = await this.#serialize(async (): Promise<RuntimeResult> => {
      if (signal.aborted) return CUT_SHORT;
      if (this.#migrating.get(id) === true) return failCancelled(id);
      const found = this.#records.get(id);
      if (found?.state === 'sent') return failSent(found);
      if (found?.state !== 'running') return failNotHere(id);
      await this.#namespaces.remove(id);
      this.#records.markSent(id, target);
      await this.#records.save();
      return RUNTIME_DONE;
    });
    this.#migrating.delete(id);
    return result;
  }

  /** Nothing is copied: one whose turn has come is over before it could be cancelled. */
  cancelMigration(id: string): void {
    if (this.#migrating.has(id)) this.#migrating.set(id, true);
  }

  /** Nothing has to arrive: an instance is made anew at its target. */
  async activate({ id, nics }: ActivateOrder, call: RuntimeCall): Promise<RuntimeResult> {
    const found = this.#records.get(id);
    if (found === undefined || found.state === 'sent') return failNotPrepared(id);
    return this.build({ ...found, nics }, call);
  }

  async start(id: string, call: RuntimeCall): Promise<RuntimeResult> {
    const found = this.#records.get(id);
    if (found === undefined) return failNotHere(id);
    if (found.state === 'sent') return failSent(found);
    const { ports = [], endedAtMs } = found;
    return this.#make(found, { ...call, ports }, endedAtMs);
  }

  /** Without power it keeps its record and nothing else: there is nothing in a namespace that has to outlive it. */
  stop(id: string, { task, signal }: RuntimeCall): Promise<RuntimeResult> {
    return this.#serialize(async () => {
      const found = this.#records.get(id);
      if (found === undefined) return failNotHere(id);
      if (found.state === 'sent') return failSent(found);
      if (signal.aborted) return CUT_SHORT;
      await this.#namespaces.remove(id);
      return this.#record({ ...found, state: 'stopped', by: task });
    });
  }

  destroy(id: string, { signal }: RuntimeCall): Promise<RuntimeResult> {
    return this.#serialize(async () => {
      if (signal.aborted) return CUT_SHORT;
      if ((await this.#namespaces.list()).has(id)) await this.#namespaces.remove(id);
      this.#records.remove(id);
      await this.#records.save();
      return RUNTIME_DONE;
    });
  }

  /** Namespaces of this host that no record explains. */
  async findStrays(): Promise<readonly string[]> {
    const ids = [...(await this.#namespaces.list())];
    return ids.filter((id) => this.#records.get(id)?.state !== 'running').sort();
  }

  onEnded(listener: (id: string) => void): () => void {
    this.#endListeners.add(listener);
    return () => this.#endListeners.delete(listener);
  }

  /** Nothing notifies of a namespace that is gone without a task, so it is looked for; while something is changed, the next time. */
  async refresh(): Promise<void> {
    if (this.#changes > 0) return;
    const ended = await this.#serialize(async () => {
      const there = await this.#namespaces.list();
      const gone = this.#records.held.filter(({ id, state }) => state === 'running' && !there.has(id));
      for (const one of gone) this.#records.put({ ...one, state: 'ended', endedAtMs: this.#clock.nowMs() });
      if (gone.length > 0) await this.#records.save();
      return gone;
    });
    for (const { id } of ended) for (const listener of this.#endListeners) listener(id);
  }

  conditions(): Promise<readonly ReportedCondition[]> {
    return Promise.resolve([]);
  }

  /** Prefixes and gateways of what is plugged in from now on. */
  observeView(view: RuntimeView): Promise<void> {
    this.#view = view;
    this.#namespaces.updateSubnets(view.subnets);
    return Promise.resolve();
  }

  async #record(instance: RuntimeInstance): Promise<RuntimeResult> {
    this.#records.put(instance);
    await this.#records.save();
    return RUNTIME_DONE;
  }

  /** One at a time: they change the same interfaces of the host. */
  #serialize<T>(work: () => Promise<T>): Promise<T> {
    this.#changes += 1;
    const result = this.#queue.then(work, work).finally(() => (this.#changes -= 1));
    this.#queue = result.catch(() => undefined);
    return result;
  }
}

/** It runs, or should and ended by itself. */
function shouldRun({ state }: RuntimeInstance): boolean {
  return state === 'running' || state === 'ended';
}

function toInstance(
  spec: InstanceSpec,
  state: RuntimeInstance['state'],
  { task, ports }: RuntimeCall,
): RuntimeInstance {
  const { id, vcpus, memoryMiB, diskGiB, nics } = spec;
  return { id, state, vcpus, memoryMiB, diskGiB, nics, by: task, ...(ports.length > 0 && { ports }) };
}
