// The files of a program's state: JSON with a checksum, and a copy of those that no server can give again. A damaged file is
// reported as a problem until the program ends, and never read as a whole one.
import type { compileChecker } from '../../fleet/index.ts';
import type { Log } from '../../operations/index.ts';
import { tryParseJson } from '../json-text.ts';
import { DiskFailed, type StateDisk, type WriteOptions } from './disk.ts';
import { sealJson, unsealJson } from './sealed-json.ts';

export type ReadFile<T> =
  | { readonly kind: 'whole'; readonly value: T }
  | { readonly kind: 'missing' }
  | { readonly kind: 'damaged'; readonly because: string };

interface SealedFile {
  readonly check: ReturnType<typeof compileChecker>;
  /** What becomes of the program without it. */
  readonly without: string;
}

interface SealedFilesOptions<Name extends string> {
  readonly disk: StateDisk<Name>;
  readonly log: Log;
  /** What the names of its files begin with. */
  readonly program: string;
  readonly files: Readonly<Record<Name, SealedFile>>;
}

export class SealedFiles<Name extends string> {
  readonly #options: SealedFilesOptions<Name>;
  readonly #problems: string[] = [];

  constructor(options: SealedFilesOptions<Name>) {
    this.#options = options;
  }

  /** The files that were damaged when they were read. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  async read<T>(name: Name): Promise<ReadFile<T>> {
    try {
      return this.#parse<T>(name, await this.#options.disk.read(name));
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      return { kind: 'damaged', because: error.message };
    }
  }

  async readCopy<T>(name: Name): Promise<T | undefined> {
    try {
      const read = this.#parse<T>(name, await this.#options.disk.readCopy?.(name));
      return read.kind === 'whole' ? read.value : undefined;
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      return undefined;
    }
  }

  /** The last one, and its copy where it may be of use. */
  async readWithCopy<T>(name: Name): Promise<readonly T[]> {
    const current = await this.read<T>(name);
    const copy = await this.readCopy<T>(name);
    if (current.kind !== 'whole') this.reportLoss(name, current, copy === undefined ? undefined : 'its copy is used');
    return [current.kind === 'whole' ? current.value : undefined, copy].filter((one) => one !== undefined);
  }

  write(name: Name, value: object, options?: WriteOptions): Promise<void> {
    return this.#options.disk.write(name, sealJson(value), options);
  }

  /** A file that is missing is a loss where there was one before. */
  reportLoss(name: Name, read: ReadFile<unknown>, toDo?: string): void {
    if (read.kind === 'whole' || (read.kind === 'missing' && toDo === undefined)) return;
    const { program, files, log } = this.#options;
    const because = read.kind === 'missing' ? 'is missing' : read.because;
    const problem = `${program}-${name}.json ${because}: ${toDo ?? files[name].without}`;
    this.#problems.push(problem);
    log.error({ file: name }, problem);
  }

  #parse<T>(name: Name, text: string | undefined): ReadFile<T> {
    if (text === undefined) return { kind: 'missing' };
    const body = unsealJson(text);
    if (body === undefined) return { kind: 'damaged', because: 'is damaged (its checksum is wrong)' };
    const [problem] = this.#options.files[name].check(tryParseJson(body));
    if (problem !== undefined) return { kind: 'damaged', because: `is damaged (${problem.field} ${problem.message})` };
    return { kind: 'whole', value: tryParseJson(body) as T };
  }
}
