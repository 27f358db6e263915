// A disk in memory, for simulated agents. It outlives the agent that writes to it, as a disk does.
import type { Disk, FileName } from '../ports.ts';
import type { WriteOptions } from '../../../link/index.ts';

export class StateMemoryDisk implements Disk {
  readonly #files = new Map<FileName, string>();
  readonly #copies = new Map<FileName, string>();

  read(name: FileName): Promise<string | undefined> {
    return Promise.resolve(this.#files.get(name));
  }

  readCopy(name: FileName): Promise<string | undefined> {
    return Promise.resolve(this.#copies.get(name));
  }

  write(name: FileName, text: string, { keepsCopy = false }: WriteOptions = {}): Promise<void> {
    if (keepsCopy) this.#copies.set(name, text);
    this.#files.set(name, text);
    return Promise.resolve();
  }

  putCopy(name: FileName, text: string): void {
    this.#copies.set(name, text);
  }

  /** As on the disk of an agent that kept no copies. */
  forgetCopies(): void {
    this.#copies.clear();
  }

  /** As when a file is deleted. */
  remove(name: FileName): void {
    this.#files.delete(name);
  }
}
