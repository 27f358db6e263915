// The durable record of refusals: JSON lines in rotated files of the data folder, the oldest deleted beyond a limit. Unauthenticated clients
// and known callers have separate files, so that a flood of the former does not push out the latter. It never fails a request: a line that
// cannot be written is logged and counted.
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Logger } from 'pino';
import type { CallerClass, RefusalLine } from './refusal-log.ts';

export interface RefusalFilesOptions {
  readonly folder: string;
  readonly log: Logger;
  /** Called for lines that could not be written. */
  readonly onLost: (lines: number) => void;
  readonly limits?: Partial<FileLimits>;
}

interface FileLimits {
  readonly fileBytes: number;
  /** Of all files of an audience. */
  readonly allBytes: number;
}

/** A line is about 300 bytes: some hundred thousand of each audience are kept. */
const LIMITS: FileLimits = { fileBytes: 4 * 1024 * 1024, allBytes: 32 * 1024 * 1024 };
/** Lines that wait for the disk. */
const WAITING_MAX = 5000;

export interface TimeRange {
  readonly sinceMs: number;
  readonly untilMs: number;
}

export class RefusalFiles {
  readonly #options: RefusalFilesOptions;
  readonly #audiences: Readonly<Record<CallerClass, AudienceFile>>;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: RefusalFilesOptions) {
    this.#options = options;
    const limits = { ...LIMITS, ...options.limits };
    this.#audiences = {
      known: new AudienceFile(options.folder, 'known', limits),
      strangers: new AudienceFile(options.folder, 'strangers', limits),
    };
  }

  write(line: RefusalLine, audience: CallerClass): void {
    const file = this.#audiences[audience];
    if (file.waiting.length >= WAITING_MAX) {
      this.#options.onLost(1);
      return;
    }
    file.waiting.push(`${JSON.stringify(line)}\n`);
    if (file.waiting.length === 1) this.#writing = this.#writing.then(() => this.#append(file));
  }

  async #append(file: AudienceFile): Promise<void> {
    const lines = file.waiting.splice(0);
    try {
      await file.append(lines.join(''));
    } catch (error) {
      this.#options.onLost(lines.length);
      this.#options.log.error({ err: error, lines: lines.length }, 'refusals could not be recorded');
    }
  }

  /** Resolves when everything that was queued is on disk, or dropped. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async close(): Promise<void> {
    await this.flush();
    for (const file of Object.values(this.#audiences)) await file.close();
  }

  /** What was recorded within a time, oldest first in each audience. */
  async *read(audience: CallerClass, range: TimeRange): AsyncGenerator<RefusalLine> {
    await this.flush();
    for (const name of await fileNames(this.#options.folder, audience))
      yield* linesIn(join(this.#options.folder, name), range);
  }
}

/** Appends to one file until it is full. Each process begins files of its own: servers may share a data folder. */
class AudienceFile {
  readonly waiting: string[] = [];
  readonly #folder: string;
  readonly #audience: CallerClass;
  readonly #limits: FileLimits;
  #open: { readonly file: FileHandle; bytes: number } | undefined;

  constructor(folder: string, audience: CallerClass, limits: FileLimits) {
    this.#folder = folder;
    this.#audience = audience;
    this.#limits = limits;
  }

  async append(text: string): Promise<void> {
    if (this.#open !== undefined && this.#open.bytes >= this.#limits.fileBytes) await this.close();
    const current = (this.#open ??= { file: await this.#begin(), bytes: 0 });
    try {
      await current.file.appendFile(text);
      await current.file.datasync();
    } catch (error) {
      await this.#truncate(current);
      throw error;
    }
    current.bytes += Buffer.byteLength(text);
  }

  /** A full disk takes a part of a line: the next one would be appended to it, and neither could be read. */
  async #truncate({ file, bytes }: { readonly file: FileHandle; readonly bytes: number }): Promise<void> {
    try {
      await file.truncate(bytes);
    } catch {
      // Not even that: the next line begins a file of its own. What was thrown first is what the caller reports.
      await this.close();
    }
  }

  async #begin(): Promise<FileHandle> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await this.#deleteOldest();
    for (;;) {
      const last = (await fileNames(this.#folder, this.#audience)).at(-1);
      const number = last === undefined ? 1 : Number(/\d+/.exec(last)?.[0]) + 1;
      const name = `refusals-${this.#audience}-${String(number).padStart(8, '0')}.jsonl`;
      try {
        return await open(join(this.#folder, name), 'ax', 0o600);
      } catch (error) {
        // Another server that shares the folder was faster.
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
  }

  async #deleteOldest(): Promise<void> {
    const names = await fileNames(this.#folder, this.#audience);
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(this.#folder, name))).size));
    let bytes = sizes.reduce((sum, size) => sum + size, 0) + this.#limits.fileBytes;
    for (const [at, name] of names.entries()) {
      if (bytes <= this.#limits.allBytes) return;
      await rm(join(this.#folder, name), { force: true });
      bytes -= sizes[at] ?? 0;
    }
  }

  async close(): Promise<void> {
    await this.#open?.file.close();
    this.#open = undefined;
  }
}

async function fileNames(folder: string, audience: CallerClass): Promise<string[]> {
  try {
    const form = new RegExp(String.raw`^refusals-${audience}-\d{8}\.jsonl$`);
    return (await readdir(folder)).filter((name) => form.test(name)).toSorted();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function* linesIn(path: string, { sinceMs, untilMs }: TimeRange): AsyncGenerator<RefusalLine> {
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined || stats.mtimeMs < sinceMs) return;
  for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    const line = parseLine(text);
    if (line !== undefined && line.atMs >= sinceMs && line.atMs < untilMs) yield line;
  }
}

/** Undefined for a line that a crash has cut off. */
function parseLine(text: string): RefusalLine | undefined {
  try {
    return JSON.parse(text) as RefusalLine;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
