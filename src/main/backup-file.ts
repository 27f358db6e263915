// A backup as a file of JSON lines: header, documents, commits, and a trailer with the SHA-256 of every byte before it. It is written under
// a temporary name and renamed when complete; it never replaces an existing file, and never contains keys.
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import type { StoreKeys } from '../cli/index.ts';
import type { CommitRow, DumpHead, DumpSink, ResourceRow } from '../journal/runtime.ts';
import { findStoreKeys } from './named-keys.ts';

/** 2: documents may have names that version 0.1.0 does not know, which writes and reads 1. */
const FORMAT = 2;
const READABLE_FORMATS: readonly number[] = [1, FORMAT];
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

interface Header {
  readonly muster: 'backup';
  readonly format: number;
  readonly version: string;
  readonly createdAtMs: number;
  readonly head: DumpHead;
  /** Keys that the servers use, by their ids. The key file is not in the backup. */
  readonly keys?: StoreKeys;
}

type ResourceLine = readonly [kind: string, id: string, revision: number, body: string, digest: string | null];
type CommitLine = readonly [
  ...[revision: number, id: string, atMs: number, by: string, why: string | null, operation: string | null],
  ...[changes: string, hash: string | null],
];
type BackupLine =
  | Header
  | { readonly resource: ResourceLine }
  | { readonly commit: CommitLine }
  | { readonly end: { readonly resources: number; readonly commits: number; readonly sha256: string } };

export interface BackupOptions {
  readonly path: string;
  readonly version: string;
  readonly nowMs: number;
}

export interface WrittenBackup {
  readonly sha256: string;
  readonly head: DumpHead;
  readonly resources: number;
  readonly commits: number;
}

/** The file is not a backup, incomplete, or corrupted. */
export class BackupDamaged extends Error {
  readonly code = 'backup-damaged';
  readonly retryable = false;

  constructor(message: string) {
    super(message);
    this.name = 'BackupDamaged';
  }
}

/** `dump` reads the store. */
export async function writeBackup(
  dump: (sink: DumpSink) => Promise<void>,
  { path, version, nowMs }: BackupOptions,
): Promise<WrittenBackup> {
  const partial = `${path}.partial`;
  // A partial file of an earlier run that was killed is useless.
  await rm(partial, { force: true });
  const file = new LineFile(partial, path.endsWith('.gz'));
  try {
    let head: DumpHead | undefined;
    let [resources, commits] = [0, 0];
    await dump({
      head: async (found, find) => {
        head = found;
        const keys = await findStoreKeys(find);
        const named = keys === undefined ? {} : { keys };
        await file.write({ muster: 'backup', format: FORMAT, version, createdAtMs: nowMs, head: found, ...named });
      },
      resources: async (page) => {
        resources += page.length;
        for (const { kind, id, revision, body, digest } of page) {
          await file.write({ resource: [kind, id, revision, body, digest] });
        }
      },
      commits: async (page) => {
        commits += page.length;
        for (const row of page) await file.write({ commit: commitLine(row) });
      },
    });
    if (head === undefined) throw new Error('the dump has no head');
    const sha256 = file.digest();
    await file.write({ end: { resources, commits, sha256 } });
    await file.close();
    await rename(partial, path);
    await syncFolder(dirname(path));
    return { sha256, head, resources, commits };
  } catch (error) {
    await file.abandon();
    await rm(partial, { force: true });
    throw error;
  }
}

function commitLine(row: CommitRow): CommitLine {
  const { revision, id, at_ms: atMs, by_whom: by, why, operation, changes, hash } = row;
  return [Number(revision), id, Number(atMs), by, why, operation, changes, hash];
}

function commitRow([revision, id, atMs, by, why, operation, changes, hash]: CommitLine): CommitRow {
  return { revision, id, at_ms: atMs, by_whom: by, why, operation, changes, hash };
}

/** Writes lines into a file that only its owner may read, with a digest over them. */
class LineFile {
  readonly #hash: Hash = createHash('sha256');
  readonly #path: string;
  readonly #file: WriteStream;
  readonly #into: NodeJS.WritableStream;
  readonly #done: Promise<void>;

  constructor(path: string, compressed: boolean) {
    const file = createWriteStream(path, { flags: 'wx', mode: 0o600 });
    this.#path = path;
    this.#file = file;
    this.#done = finished(file);
    this.#done.catch(() => undefined);
    if (compressed) {
      const gzip = createGzip();
      gzip.pipe(file);
      this.#into = gzip;
    } else this.#into = file;
  }

  async write(line: BackupLine): Promise<void> {
    const text = `${JSON.stringify(line)}\n`;
    this.#hash.update(text);
    if (this.#into.write(text)) return;
    const drained = Promise.withResolvers<undefined>();
    this.#into.once('drain', () => drained.resolve(undefined));
    await Promise.race([this.#done, drained.promise]);
  }

  /** The digest so far. */
  digest(): string {
    return this.#hash.copy().digest('hex');
  }

  /** It is not opened after this: a file that is removed must not come back. */
  async abandon(): Promise<void> {
    this.#file.destroy();
    await this.#done.catch(() => undefined); // why it ended is known
  }

  async close(): Promise<void> {
    this.#into.end();
    await this.#done;
    const file = await open(this.#path, 'r');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Reads a backup to its end. Only when this resolves is what it has passed on known to be complete. */
export async function readBackup(path: string, sink: DumpSink): Promise<{ readonly sha256: string }> {
  const hash = createHash('sha256');
  const pages = new Pages(sink);
  let [resources, commits] = [0, 0];
  let isHeaded = false;
  for await (const text of linesOf(path)) {
    const line = parseLine(path, text);
    if ('end' in line) {
      await pages.flush();
      const sha256 = hash.digest('hex');
      if (line.end.sha256 !== sha256 || line.end.resources !== resources || line.end.commits !== commits) {
        throw new BackupDamaged(
          `${path} is damaged: its content does not match the digest at its end; use another backup`,
        );
      }
      return { sha256 };
    }
    hash.update(`${text}\n`);
    if (!isHeaded) {
      await sink.head(headOf(path, line));
      isHeaded = true;
    } else if ('resource' in line) {
      resources += 1;
      const [kind, id, revision, body, digest] = line.resource;
      await pages.resource({ kind, id, revision, body, digest });
    } else if ('commit' in line) {
      commits += 1;
      await pages.commit(commitRow(line.commit));
    } else
      throw new BackupDamaged(
        `${path} is damaged: a line of it is neither a document nor a commit; use another backup`,
      );
  }
  throw new BackupDamaged(`${path} is incomplete: its end is missing; use another backup`);
}

function headOf(path: string, line: BackupLine): DumpHead {
  if (!('muster' in line))
    throw new BackupDamaged(`${path} is not a backup of Muster; name one that "muster backup" made`);
  if (READABLE_FORMATS.includes(line.format)) return line.head;
  throw new BackupDamaged(
    `${path} has format ${line.format}, and this program reads ${READABLE_FORMATS.join(' and ')}: use the Muster version that fits`,
  );
}

function parseLine(path: string, text: string): BackupLine {
  try {
    const line: unknown = JSON.parse(text);
    if (typeof line === 'object' && line !== null) return line as BackupLine;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw notABackup(path);
}

function notABackup(path: string): BackupDamaged {
  return new BackupDamaged(`${path} is damaged, or not a backup of Muster; use another backup`);
}

const PAGE = 1000;

/** Collects rows into pages. Documents come before commits. */
class Pages {
  readonly #sink: DumpSink;
  #resources: ResourceRow[] = [];
  #commits: CommitRow[] = [];

  constructor(sink: DumpSink) {
    this.#sink = sink;
  }

  async resource(row: ResourceRow): Promise<void> {
    if (this.#resources.push(row) >= PAGE) await this.flush();
  }

  async commit(row: CommitRow): Promise<void> {
    if (this.#resources.length > 0) await this.flush();
    if (this.#commits.push(row) >= PAGE) await this.flush();
  }

  async flush(): Promise<void> {
    const [resources, commits] = [this.#resources, this.#commits];
    [this.#resources, this.#commits] = [[], []];
    if (resources.length > 0) await this.#sink.resources(resources);
    if (commits.length > 0) await this.#sink.commits(commits);
  }
}

/**
 * The longest line is a commit: a thousand documents of at most 64 KiB, with escapes. A file without line ends must not fill the memory.
 */
const LINE_LENGTH_MAX = 128 * 1024 * 1024;

/** The lines of a file, compressed or not. A last line without a line end is dropped: the file was cut. */
async function* linesOf(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of await contentOf(path)) {
      const text = decoder.decode(chunk as Buffer, { stream: true });
      // Each chunk is scanned once: a long line comes in thousands of chunks.
      const lines = text.includes('\n') ? (rest + text).split('\n') : [rest + text];
      rest = lines.pop() ?? '';
      if (rest.length > LINE_LENGTH_MAX) throw notABackup(path);
      yield* lines;
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code?.startsWith('Z_') === true)
      throw new BackupDamaged(`${path} is damaged: it cannot be decompressed; use another backup`);
    throw error;
  }
}

async function contentOf(path: string): Promise<NodeJS.ReadableStream> {
  const file = await open(path, 'r');
  const first = Buffer.alloc(GZIP_MAGIC.length);
  await file.read(first, 0, first.length, 0);
  await file.close();
  const stream = createReadStream(path);
  if (!first.equals(GZIP_MAGIC)) return stream;
  const gunzip = createGunzip();
  stream.once('error', (error) => gunzip.destroy(error));
  return stream.pipe(gunzip);
}
