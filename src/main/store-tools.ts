// muster verify, backup and restore: work on a store itself, beside a running server or without one.
import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EXIT, CommandFailure, type StoreToolOptions, type StoreTools } from '../cli/index.ts';
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
} from '../journal/runtime.ts';
import { BackupDamaged, readBackup, writeBackup } from './backup-file.ts';
import { lockFolder } from './data-folder.ts';
import { PROGRAM } from './modules.ts';
import { KeyNames, locateKeys } from './named-keys.ts';
import { locateSecretKeys, SecretKeyNames } from './named-secret-keys.ts';
import { DATABASE_FILE, demandPostgresUrl } from './open-store.ts';
import { StartFailure, cannotOpenStore } from './start-failure.ts';

export function storeTools(version: string, nowMs: () => number, program = PROGRAM): StoreTools {
  const newInspection = (): DumpInspection => ({
    verifier: new Verifier(sha256),
    keys: new KeyNames(),
    secretKeys: new SecretKeyNames(program.models.flatMap(({ kinds }) => kinds)),
  });
  return {
    verify: (request) =>
      explainFailures(async () => {
        const { file } = request;
        if (file !== undefined) demandFile(file, `Check the store in it with: muster verify --data ${file}`);
        const read = newInspection();
        const sink = withProgress(fanOut(...sinksOf(read)), request.progress);
        const digest = file === undefined ? await dumpStore(request, sink) : (await readBackup(file, sink)).sha256;
        return summarize(read, digest);
      }),
    backup: (request) =>
      explainFailures(async () => {
        if (existsSync(request.file))
          throw new CommandFailure(EXIT.usage, `${request.file} exists already. Name another file.`);
        const folder = dirname(request.file);
        if (!existsSync(folder))
          throw new CommandFailure(EXIT.usage, `There is no folder ${folder}. Make it, or name another.`);
        const options = { path: request.file, version, nowMs: nowMs() };
        const read = newInspection();
        const teeDump = (sink: DumpSink): DumpSink => withProgress(fanOut(...sinksOf(read), sink), request.progress);
        const written = await withReader(request, (reader) =>
          writeBackup((sink) => reader.dump(teeDump(sink)), options),
        );
        return { file: request.file, ...summarize(read, written.sha256) };
      }),
    restore: (request) => explainFailures(() => restore(request, newInspection())),
  };
}

async function restore(
  request: Parameters<StoreTools['restore']>[0],
  read: DumpInspection,
): Promise<Awaited<ReturnType<StoreTools['restore']>>> {
  demandFile(request.file, 'Name a file that "muster backup" made.');
  // To its end, before anything is written: a restore never starts from an incomplete backup.
  const { sha256: digest } = await readBackup(request.file, fanOut(...sinksOf(read)));
  const { damage, keys, secretKeys, revision, documents, commits } = summarize(read, digest);
  if (damage.length > 0)
    throw new CommandFailure(EXIT.refused, `${request.file} is damaged: ${damage.join('; ')}. Use another backup.`);
  return withTarget(request, async (target) => {
    await target.begin(digest);
    let head: DumpHead | undefined;
    const into: DumpSink = {
      head: (found) => {
        head = found;
      },
      resources: (page) => target.resources(page),
      commits: (page) => target.commits(page),
    };
    const { sha256: again } = await readBackup(request.file, withProgress(into, request.progress));
    // The checked contents are what is restored: until `finish` the store is marked, and no server opens it.
    if (again !== digest) throw new BackupDamaged(`${request.file} was changed while it was read`);
    if (head === undefined) throw new Error('the backup has no head');
    await target.finish(head);
    const { secretKey } = request;
    const data = isShared(request.store) ? undefined : request.data;
    const located = {
      ...(keys && { keys: locateKeys(keys, request.keys ?? request.data) }),
      ...(secretKeys && { secretKeys: locateSecretKeys(secretKeys, { secretKey, data }) }),
    };
    return { file: request.file, digest, journalId: target.journalId, revision, documents, commits, ...located };
  });
}

interface DumpInspection {
  readonly verifier: Verifier;
  readonly keys: KeyNames;
  readonly secretKeys: SecretKeyNames;
}

function sinksOf({ verifier, keys, secretKeys }: DumpInspection): readonly DumpSink[] {
  return [verifier, keys, secretKeys];
}

function summarize(
  { verifier, keys: { found: keys }, secretKeys: { found: secretKeys } }: DumpInspection,
  digest: string | undefined,
) {
  const { damage, ...verified } = verifier.finish();
  return {
    ...verified,
    ...(keys !== undefined && { keys }),
    ...(secretKeys !== undefined && { secretKeys }),
    ...(digest !== undefined && { digest }),
    intact: damage.length === 0,
    damage: damage.map(describeDamage),
  };
}

function fanOut(...sinks: readonly DumpSink[]): DumpSink {
  return {
    head: async (head, find) => {
      for (const sink of sinks) await sink.head(head, find);
    },
    resources: async (page) => {
      for (const sink of sinks) await sink.resources(page);
    },
    commits: async (page) => {
      for (const sink of sinks) await sink.commits(page);
    },
  };
}

function withProgress(sink: DumpSink, progress: ((done: number, all: number) => void) | undefined): DumpSink {
  let [done, all] = [0, 0];
  const advance = (count: number): void => progress?.((done += count), all);
  return {
    head: (head, find) => {
      all = (head.totals?.count ?? 0) + head.revision - head.floorRevision;
      return sink.head(head, find);
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

async function dumpStore(request: StoreToolOptions, sink: DumpSink): Promise<undefined> {
  await withReader(request, (reader) => reader.dump(sink));
}

async function withReader<T>({ data, store }: StoreToolOptions, work: (reader: StoreReader) => Promise<T>): Promise<T> {
  const path = join(data, DATABASE_FILE);
  return namingStore(isShared(store) ? nameSharedStore(store) : path, async () => {
    const reader = isShared(store) ? await openPostgresReader(store) : openSqliteReader(databaseIn(data));
    try {
      return await work(reader);
    } finally {
      await reader.close();
    }
  });
}

/** A failure of the store is said as `serve` says it: which store, what is wrong, what to do. */
async function namingStore<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // Some sentences begin with the name of the store, and end with what to do.
    if (error instanceof Error && error.message.startsWith(`${name} `)) throw error;
    throw cannotOpenStore(name, error) ?? error;
  }
}

/** Without a password. */
function nameSharedStore(store: string): string {
  demandPostgresUrl(store);
  const parsed = parsePostgresUrl(store, process.env);
  if (parsed.kind === 'refused') throw new StartFailure(`The URL of the store cannot be used: ${parsed.detail}.`);
  return describePostgresUrl(parsed.url);
}

/** A folder is opened as a file is, and fails at the first byte. */
function demandFile(path: string, advice: string): void {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder) throw new CommandFailure(EXIT.usage, `${path} is a folder, and a backup is a file. ${advice}`);
}

function databaseIn(folder: string): string {
  const path = join(folder, DATABASE_FILE);
  if (existsSync(path)) return path;
  throw new CommandFailure(
    EXIT.refused,
    `There is no database in ${folder}. Name the data folder with --data, or a store with --store.`,
  );
}

async function withTarget<T>(
  { data, store }: StoreToolOptions,
  work: (target: RestoreTarget) => Promise<T>,
): Promise<T> {
  const journalId = randomUUID();
  if (isShared(store)) {
    const name = nameSharedStore(store);
    return namingStore(name, async () =>
      workOn(await openPostgresRestore({ connectionString: store, name, journalId }), work),
    );
  }
  const folder = lockFolder(data);
  const path = join(data, DATABASE_FILE);
  try {
    return await namingStore(path, async () => workOn(openSqliteRestore(path, journalId), work));
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

async function explainFailures<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // Both begin with the name of a file, which is left as it is.
    if (error instanceof StoreUnusable || error instanceof BackupDamaged) {
      throw new CommandFailure(EXIT.refused, `${error.message}.`, { cause: error });
    }
    if (error instanceof StartFailure) {
      const exitCode = error.cause instanceof StoreUnavailable ? EXIT.unreachable : EXIT.refused;
      throw new CommandFailure(exitCode, error.message, { cause: error });
    }
    const { code, message, path } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && path !== undefined)
      throw new CommandFailure(EXIT.refused, `There is no ${path}. Check the path.`, { cause: error });
    if (typeof code === 'string' && /^E[A-Z]+$/.test(code))
      throw new CommandFailure(EXIT.refused, `${message}.`, { cause: error });
    throw error;
  }
}
