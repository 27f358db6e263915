// What a runtime remembers of its instances: which there are, by which task, and where others went. On a disk, so that it outlives
// the process, unless it is given none.
import { StateDamaged, type Disk } from '../ports.ts';
import type { RuntimeInstance } from './instance-runtime.ts';
import { readRuntimeState, writeRuntimeState, type RuntimeState } from './runtime-state.ts';

/** Of instances that left, the last ones are remembered: a migration may be requested again after a crash. */
const SENT_MAX = 1000;

export class InstanceRecords {
  readonly #disk: Pick<Disk, 'read' | 'write'> | undefined;
  readonly #instances = new Map<string, RuntimeInstance>();
  /** Where instances were sent, by instance, oldest first. */
  readonly #sent = new Map<string, string>();
  #loading: Promise<void> | undefined;
  #lastSave: Promise<void> = Promise.resolve();
  /** What was last written or read. */
  #saved: string | undefined;

  constructor(disk?: Pick<Disk, 'read' | 'write'>) {
    this.#disk = disk;
  }

  /** What is here, in the order of their ids. */
  get held(): readonly RuntimeInstance[] {
    return [...this.#instances.values()].sort(compareById);
  }

  /** With those that were sent elsewhere. */
  get all(): readonly RuntimeInstance[] {
    return [...this.#instances.values(), ...[...this.#sent].map(toSentInstance)].sort(compareById);
  }

  /** In no order: cheap. */
  values(): Iterable<RuntimeInstance> {
    return this.#instances.values();
  }

  get(id: string): RuntimeInstance | undefined {
    const target = this.#sent.get(id);
    return target === undefined ? this.#instances.get(id) : toSentInstance([id, target]);
  }

  put(instance: RuntimeInstance): void {
    this.#instances.set(instance.id, instance);
    this.#sent.delete(instance.id);
  }

  remove(id: string): void {
    this.#instances.delete(id);
    this.#sent.delete(id);
  }

  markSent(id: string, target: string): void {
    this.remove(id);
    this.#sent.set(id, target);
    for (const oldest of this.#sent.keys()) {
      if (this.#sent.size <= SENT_MAX) break;
      this.#sent.delete(oldest);
    }
  }

  /** Nothing was ever saved. */
  get isNew(): boolean {
    return this.#saved === undefined;
  }

  /** Reads once what was saved last. Rejects with `DiskFailed`, and may be called again then. */
  async load(): Promise<void> {
    this.#loading ??= this.#read();
    try {
      await this.#loading;
    } catch (error) {
      this.#loading = undefined; // the disk may be mended
      throw error;
    }
  }

  async #read(): Promise<void> {
    const text = await this.#disk?.read('machine');
    if (text === undefined) return this.#refuseMissing();
    const state = readRuntimeState(text);
    if (typeof state === 'string') throw composeDamageError(`cannot be read back: ${state}`);
    this.#saved = text;
    this.#replace(state);
  }

  /** A host that never had an instance has no file. One that had some has lost it. */
  async #refuseMissing(): Promise<void> {
    const traces = [await this.#disk?.read('machine-previous'), await this.#disk?.read('machine-used')];
    if (traces.some((trace) => trace !== undefined)) throw composeDamageError('is missing');
  }

  #replace({ instances, sent }: RuntimeState): void {
    this.#instances.clear();
    this.#sent.clear();
    for (const instance of instances) this.#instances.set(instance.id, instance);
    for (const [id, target] of sent) this.#sent.set(id, target);
  }

  /** Replaces the instances that were lost by those that are chosen from the version before. */
  async recover(choose: (previous: readonly RuntimeInstance[]) => readonly RuntimeInstance[]): Promise<void> {
    const text = await this.#disk?.read('machine-previous');
    const previous = text === undefined ? '' : readRuntimeState(text);
    const { instances, sent } = typeof previous === 'string' ? { instances: [], sent: [] } : previous;
    const chosen = choose(instances);
    const here = new Set(chosen.map(({ id }) => id));
    this.#replace({ instances: chosen, sent: sent.filter(([id]) => !here.has(id)) });
    this.#loading = Promise.resolve();
    await this.save();
  }

  /** Has a file from here on, before anything is made that it has to list: one that is missing then is a loss. */
  async saveFirst(): Promise<void> {
    if (this.isNew) await this.save();
  }

  /** Resolves when what is there now is on disk. Writes follow one another: the last one says what is. */
  save(): Promise<void> {
    const disk = this.#disk;
    if (disk === undefined) return Promise.resolve();
    const before = this.#lastSave;
    const write = (): Promise<void> => this.#write(disk);
    const written = before.then(write, write);
    this.#lastSave = written;
    return written;
  }

  /** The version before is kept: after a damage it says most of what was there. */
  async #write(disk: Pick<Disk, 'write'>): Promise<void> {
    const text = writeRuntimeState({ instances: this.held, sent: [...this.#sent] });
    if (this.#saved === undefined) await disk.write('machine-used', HAS_BEEN_USED);
    else await disk.write('machine-previous', this.#saved);
    await disk.write('machine', text);
    this.#saved = text;
  }
}

function compareById(one: RuntimeInstance, other: RuntimeInstance): number {
  return one.id < other.id ? -1 : 1;
}

/** Nothing of it is left here but the word where it went. */
function toSentInstance([id, target]: readonly [string, string]): RuntimeInstance {
  return { id, state: 'sent', target, vcpus: 0, memoryMiB: 0, diskGiB: 0, nics: [], by: '' };
}

const HAS_BEEN_USED = 'This agent has kept a record of instances: if "agent-machine.json" is missing, it was lost.\n';

export function composeDamageError(how: string): StateDamaged {
  const toDo = 'restore agent-machine.json, or start the agent once with --recover-instances';
  return new StateDamaged(`nothing is built or removed; ${toDo}: its record of instances ${how}`);
}
