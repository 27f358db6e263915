// A disk in memory, for simulated agents. It outlives the agent that writes to it, as a disk does.
import type { Disk, FileName } from '../ports.ts';

export class MemoryDisk implements Disk {
  readonly #files = new Map<FileName, string>();

  read(name: FileName): Promise<string | undefined> {
    return Promise.resolve(this.#files.get(name));
  }

  write(name: FileName, text: string): Promise<void> {
    this.#files.set(name, text);
    return Promise.resolve();
  }

  /** As somebody does who deletes a file. */
  remove(name: FileName): void {
    this.#files.delete(name);
  }
}
