// muster verify, backup and restore: work on a store itself, beside a running server or without one.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, Failure, type StoreAsked, type StoreTools } from '../cli/index.ts';
import { describeDamage, StoreUnavailable, StoreUnusable } from '../journal/index.ts';
import {
  describePostgresUrl,
  openPostgresReader,
  openPostgresRestore,
  openSqliteReader,
  openSqliteRestore,
  parsePostgresUrl,
  sha256,
  Verifier,
  type DumpHead,
  type DumpSink,
  type RestoreTarget,
  type StoreReader,
  type Verified,
} from '../journal/runtime.ts';
import { BackupDamaged, readBackup, writeBackup } from './backup-file.ts';
import { lockFolder } from './data-folder.ts';
import { DATABASE_FILE } from './open-store.ts';
import { CannotStart } from './start-failure.ts';

export function storeTools(version: string, nowMs: () => number): StoreTools {
  return {
    verify: (asked) =>
      explained(async () => {
        const { file } = asked;
        const verifier = new Verifier(sha256);
        const sink = withProgress(verifier, asked.progress);
        const digest = file === undefined ? await dumped(asked, sink) : (await readBackup(file, sink)).sha256;
        return shown(verifier.finish(), digest);
      }),
    backup: (asked) =>
      explained(async () => {
        if (existsSync(asked.file)) throw new Failure(EXIT.usage, `${asked.file} exists already. Name another file.`);
        const options = { path: asked.file, version, nowMs: nowMs() };
        const verifier = new Verifier(sha256);
        const both = (sink: DumpSink): DumpSink => withProgress(together(verifier, sink), asked.progress);
        const written = await withReader(asked, (reader) => writeBackup((sink) => reader.dump(both(sink)), options));
        return { file: asked.file, ...shown(verifier.finish(), written.sha256) };
      }),
    restore: (asked) => explained(() => restore(asked)),
  };
}

async function restore(
  asked: Parameters<StoreTools['restore']>[0],
): Promise<Awaited<ReturnType<StoreTools['restore']>>> {
  const verifier = new Verifier(sha256);
  // To its end, before anything is written: what is not whole is not begun with.
  const { sha256: digest } = await readBackup(asked.file, verifier);
  const verified = verifier.finish();
  const { damage } = shown(verified, digest);
  if (damage.length > 0) throw new Failure(EXIT.refused, `${asked.file} is damaged: ${damage.join('; ')}.`);
  return withTarget(asked, async (target) => {
    await target.begin(digest);
    let head: DumpHead | undefined;
    const into: DumpSink = {
      head: (found) => {
        head = found;
      },
      resources: (page) => target.resources(page),
      commits: (page) => target.commits(page),
    };
    await readBackup(asked.file, withProgress(into, asked.progress));
    if (head === undefined) throw new Error('the backup has no head');
    await target.finish(head);
    const { revision, documents, commits } = verified;
    return { file: asked.file, digest, journalId: target.journalId, revision, documents, commits };
  });
}

function shown({ damage, ...verified }: Verified, digest: string | undefined) {
  return {
    ...verified,
    ...(digest !== undefined && { digest }),
    intact: damage.length === 0,
    damage: damage.map(describeDamage),
  };
}

function together(one: DumpSink, other: DumpSink): DumpSink {
  return {
    head: async (head) => {
      await one.head(head);
      await other.head(head);
    },
    resources: async (page) => {
      await one.resources(page);
      await other.resources(page);
    },
    commits: async (page) => {
      await one.commits(page);
      await other.commits(page);
    },
  };
}

function withProgress(sink: DumpSink, progress: ((done: number, all: number) => void) | undefined): DumpSink {
  let [done, all] = [0, 0];
  const advance = (count: number): void => progress?.((done += count), all);
  return {
    head: (head) => {
      all = (head.totals?.count ?? 0) + head.revision - head.floorRevision;
      return sink.head(head);
    },
    resources: async (page) => {
      await sink.resources(page);
      advance(page.length);
    },
    commits: async (page) => {
      await sink.commits(page);
      advance(page.length);
    },
  };
}

async function dumped(asked: StoreAsked, sink: DumpSink): Promise<undefined> {
  await withReader(asked, (reader) => reader.dump(sink));
}

async function withReader<T>({ data, store }: StoreAsked, work: (reader: StoreReader) => Promise<T>): Promise<T> {
  const reader = isShared(store) ? await openPostgresReader(store) : openSqliteReader(databaseIn(data));
  try {
    return await work(reader);
  } finally {
    await reader.close();
  }
}

function databaseIn(folder: string): string {
  const path = join(folder, DATABASE_FILE);
  if (existsSync(path)) return path;
  throw new Failure(
    EXIT.refused,
    `There is no database in ${folder}. Name the data folder with --data, or a store with --store.`,
  );
}

async function withTarget<T>({ data, store }: StoreAsked, work: (target: RestoreTarget) => Promise<T>): Promise<T> {
  const journalId = randomUUID();
  if (isShared(store)) {
    const parsed = parsePostgresUrl(store, process.env);
    const name = parsed.kind === 'refused' ? 'the store' : describePostgresUrl(parsed.url);
    const target = await openPostgresRestore({ connectionString: store, name, journalId });
    return workOn(target, work);
  }
  const folder = lockFolder(data);
  try {
    const target = openSqliteRestore(join(data, DATABASE_FILE), journalId);
    return await workOn(target, work);
  } finally {
    folder.release();
  }
}

async function workOn<T>(target: RestoreTarget, work: (target: RestoreTarget) => Promise<T>): Promise<T> {
  try {
    return await work(target);
  } finally {
    await target.close();
  }
}

function isShared(store: string | undefined): store is string {
  return store !== undefined && store !== 'sqlite';
}

async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreUnavailable) throw new Failure(EXIT.unreachable, `${error.message}.`, { cause: error });
    if (error instanceof StoreUnusable || error instanceof BackupDamaged) {
      throw new Failure(EXIT.refused, sentence(error.message), { cause: error });
    }
    if (error instanceof CannotStart) throw new Failure(EXIT.refused, error.message, { cause: error });
    const { code, message } = error as NodeJS.ErrnoException;
    if (typeof code === 'string' && /^E[A-Z]+$/.test(code))
      throw new Failure(EXIT.refused, `${message}.`, { cause: error });
    throw error;
  }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
