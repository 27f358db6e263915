// What a runtime remembers of its instances: which there are, by which task, and where others went. On a disk, so that it outlives
// the process, unless it is given none.
import type { Disk } from '../ports.ts';
import type { RuntimeInstance } from './instance-runtime.ts';

/** Of instances that left, the last ones are remembered: a migration may be asked for again after a crash. */
const SENT_MAX = 1000;

export class InstanceRecords {
  readonly #disk: Pick<Disk, 'read' | 'write'> | undefined;
  readonly #instances = new Map<string, RuntimeInstance>();
  /** Where instances were sent, by instance, oldest first. */
  readonly #sent = new Map<string, string>();
  #loading: Promise<void> | undefined;
  #lastSave: Promise<void> = Promise.resolve();

  constructor(disk?: Pick<Disk, 'read' | 'write'>) {
    this.#disk = disk;
  }

  /** In the order of their ids. */
  get all(): readonly RuntimeInstance[] {
    return [...this.#instances.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  /** In no order: cheap. */
  values(): Iterable<RuntimeInstance> {
    return this.#instances.values();
  }

  get(id: string): RuntimeInstance | undefined {
    return this.#instances.get(id);
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

  sentTo(id: string): string | undefined {
    return this.#sent.get(id);
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
    const { instances, sent } = parseState(await this.#disk?.read('machine'));
    for (const instance of instances) this.#instances.set(instance.id, instance);
    for (const [id, target] of sent) this.#sent.set(id, target);
  }

  /** Resolves when what is there now is on disk. Writes follow one another: the last one says what is. */
  save(): Promise<void> {
    const disk = this.#disk;
    if (disk === undefined) return Promise.resolve();
    const write = (): Promise<void> => {
      const now: RecordedState = { instances: this.all, sent: [...this.#sent] };
      return disk.write('machine', JSON.stringify(now));
    };
    const before = this.#lastSave;
    const written = before.then(write, write);
    this.#lastSave = written;
    return written;
  }
}

/** A file that cannot be read back is a machine that forgot. */
function parseState(text: string | undefined): RecordedState {
  const nothing: RecordedState = { instances: [], sent: [] };
  if (text === undefined) return nothing;
  try {
    return { ...nothing, ...(JSON.parse(text) as Partial<RecordedState>) };
  } catch (error) {
    if (error instanceof SyntaxError) return nothing;
    throw error;
  }
}

interface RecordedState {
  readonly instances: readonly RuntimeInstance[];
  readonly sent: readonly (readonly [string, string])[];
}
