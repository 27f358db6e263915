// The data folder, for one server at a time. The lock is SQLite's own lock on a file: the operating system releases it when the process
// ends, however it ends.
import { accessSync, constants, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { checkPrivateFolder } from './private-folder.ts';
import { StartFailure, cannotOpenFolder } from './start-failure.ts';

export interface LockedFolder {
  readonly path: string;
  release(): void;
}

/** Where refusals are stored. */
export const AUDIT_FOLDER = 'audit';

const LOCK_FILE = 'lock';
const OWNER_FILE = 'lock-owner';

export function prepareFolder(path: string): void {
  try {
    makeFolder(resolve(path));
    if (!statSync(path).isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
    checkPrivateFolder(path, '--data');
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw error instanceof StartFailure ? error : cannotOpenFolder(path, error);
  }
}

/** Not `recursive`: that never returns where a file system answers "not there" for an existing folder. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (!existsSync(parent)) makeFolder(parent);
  mkdirSync(path, { mode: 0o700 });
}

export function lockFolder(path: string): LockedFolder {
  prepareFolder(path);
  let database: DatabaseSync;
  try {
    database = new DatabaseSync(join(path, LOCK_FILE), { timeout: 0 });
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    if (!isBusy(error)) throw cannotOpenFolder(path, error);
    throw new StartFailure(
      `The data folder ${path} is used by another Muster server${ownerOf(path)}. Stop it, or name another folder with --data.`,
      { cause: error },
    );
  }
  const release = (): void => {
    if (database.isOpen) database.close();
  };
  try {
    writeFileSync(join(path, OWNER_FILE), `${process.pid}\n`);
  } catch (error) {
    release();
    throw cannotOpenFolder(path, error);
  }
  return { path, release };
}

const SQLITE_BUSY = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}

/** Only for the sentence: the file may be from a process that ended long ago. */
function ownerOf(path: string): string {
  try {
    return ` (process ${readFileSync(join(path, OWNER_FILE), 'utf8').trim()})`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
