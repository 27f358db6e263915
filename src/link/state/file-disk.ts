// The files of a program's state in its folder. Each is replaced as a whole: written beside, flushed, renamed, and the folder
// flushed, so that after a power cut there is the old file or the new one. Readable by its owner alone: one is a secret.
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { DiskFailed, type StateDisk, type WriteOptions } from './disk.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

export class FileDisk<Name extends string> implements StateDisk<Name> {
  readonly #folder: string;
  readonly #program: string;

  /** `program`: what the names of its files begin with. */
  constructor(folder: string, program: string) {
    this.#folder = folder;
    this.#program = program;
  }

  read(name: Name): Promise<string | undefined> {
    return this.#read(name);
  }

  readCopy(name: Name): Promise<string | undefined> {
    return this.#read(`${name}-copy`);
  }

  async #read(name: string): Promise<string | undefined> {
    try {
      return await readFile(this.#path(name), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw this.#toDiskFailed(`read ${name}`, error);
    }
  }

  async write(name: Name, text: string, { keepsCopy = false }: WriteOptions = {}): Promise<void> {
    try {
      // First: when the file itself cannot be written, nothing counts as changed.
      if (keepsCopy) await this.#replace(`${name}-copy`, text);
      await this.#replace(name, text);
    } catch (error) {
      throw this.#toDiskFailed(`write ${name}`, error);
    }
  }

  async #replace(name: string, text: string): Promise<void> {
    const path = this.#path(name);
    await this.#writeFlushed(`${path}.new`, text);
    await rename(`${path}.new`, path);
    await flushFolder(this.#folder);
  }

  /** The folder is there but for the first time: each look at it is a wait. */
  async #writeFlushed(path: string, text: string): Promise<void> {
    try {
      await writeFlushed(path, text);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await mkdir(this.#folder, { recursive: true, mode: FOLDER_MODE });
      await writeFlushed(path, text);
    }
  }

  #path(name: string): string {
    return join(this.#folder, `${this.#program}-${name}.json`);
  }

  #toDiskFailed(what: string, cause: unknown): DiskFailed {
    const why = cause instanceof Error ? cause.message : String(cause);
    return new DiskFailed(`the ${this.#program} cannot ${what} in its data folder: ${why}`, { cause });
  }
}

async function writeFlushed(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', FILE_MODE);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
