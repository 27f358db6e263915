// SQLite's own check of the pages and indexes of a file. It reads the whole file: a small one at once, a large one in a thread,
// on a connection that only reads.
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

/** A file of this size is checked in well under a second, also on a slow disk: some 200 MB are read in a second. */
const AT_ONCE_BYTES_MAX = 64 * 1024 * 1024;

/** Beyond so many findings the rest says nothing new. */
const FINDINGS_MAX = 20;

/** What is wrong, in SQLite's words; nothing when the file is sound. */
export function quickCheck(path: string): readonly string[] {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 2000 });
  try {
    const rows = database.prepare(`PRAGMA quick_check(${FINDINGS_MAX})`).all();
    return rows.map((row) => String(row['quick_check'])).filter((text) => text !== 'ok');
  } catch (error) {
    // Some damage keeps the check itself from running.
    return [(error as Error).message];
  } finally {
    database.close();
  }
}

/**
 * Calls `found` with what is wrong: before it returns for a small file; for a large one once the check that it answers was started
 * and has ended. The caller chooses the time: the thread takes a core and reads the whole file.
 */
export function prepareQuickCheck(path: string, found: (findings: readonly string[]) => void): () => void {
  if (statSync(path).size > AT_ONCE_BYTES_MAX) return () => startCheckThread(path, found);
  found(quickCheck(path));
  return () => undefined;
}

function startCheckThread(path: string, found: (findings: readonly string[]) => void): void {
  const thread = new Worker(new URL('./quick-check-thread-main.ts', import.meta.url), {
    workerData: path,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  thread.unref();
  thread.once('message', (findings: readonly string[]) => found(findings));
  thread.once('error', (error) => found([(error as Error).message]));
}
