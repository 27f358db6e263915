// Why a server does not start, in sentences for the operator.
import { StoreUnavailable, StoreUnusable } from '../journal/index.ts';

/** Nothing was started, for this reason. */
export class StartFailure extends Error {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'CannotStart';
  }
}

export function cannotOpenFolder(folder: string, error: unknown): StartFailure {
  const { code, message } = error as NodeJS.ErrnoException;
  const [why, toDo] = FOLDER_TROUBLES[code ?? ''] ?? [message, 'See to that'];
  return new StartFailure(`The data folder ${folder} cannot be used: ${why}. ${toDo}, or name another with --data.`, {
    cause: error,
  });
}

const NOT_WRITABLE = ['it may not be written to', 'Make it writable'] as const;
const DISK_FULL = ['the disk is full', 'Free some space there'] as const;

const FOLDER_TROUBLES: Readonly<Record<string, readonly [why: string, toDo: string]>> = {
  EACCES: NOT_WRITABLE,
  EPERM: NOT_WRITABLE,
  EROFS: NOT_WRITABLE,
  ENOTDIR: ['it is not a folder', 'Move away what is there'],
  ENOENT: ['no folder can be made there', 'Make the folder around it'],
  ENOSPC: DISK_FULL,
  EDQUOT: DISK_FULL,
};

function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Any file of a start may be the first that hits a full disk. Undefined for anything else. */
export function diskFullFailure(folder: string, error: unknown): StartFailure | undefined {
  return isDiskFull(error) ? cannotOpenFolder(folder, error) : undefined;
}

export function cannotListen(listen: string, error: unknown): StartFailure {
  const { code, message } = error as NodeJS.ErrnoException;
  const why =
    code === 'EADDRINUSE'
      ? 'another program listens there. Stop it, or choose another address with --listen'
      : code === 'EADDRNOTAVAIL'
        ? 'this machine does not have that address. Name one that it has with --listen, or 0.0.0.0 for all'
        : code === 'EACCES'
          ? 'ports below 1024 need more rights. Choose a higher one with --listen, or grant CAP_NET_BIND_SERVICE'
          : message;
  return new StartFailure(`Cannot listen on ${listen}: ${why}.`, { cause: error });
}

/** Undefined for a bug, which must be shown as it is. */
export function cannotOpenStore(store: string, error: unknown): StartFailure | undefined {
  if (error instanceof StoreUnusable || error instanceof StoreUnavailable) {
    const advice = STORE_ADVICE[error.code];
    const toDo = advice === undefined ? '' : ` ${advice}`;
    return new StartFailure(`The store ${store} cannot be used: ${error.message}.${toDo}`, { cause: error });
  }
  return undefined;
}

/** For those whose own sentence ends with what is wrong. */
const STORE_ADVICE: Readonly<Record<string, string>> = {
  'store-unavailable': 'See that it runs and can be reached, or name another with --store.',
  'postgres-refused': 'Check the user, the password and the database in --store, and what pg_hba.conf allows.',
  'schema-gone': 'Restore a backup into an empty database with "muster restore".',
  'sqlite-read-only': 'Make it writable for the user that runs the server.',
  'sqlite-cannot-open': 'Make it readable and writable for the user that runs the server.',
  'sqlite-not-a-database':
    'Bring the right file back, or restore a backup into another data folder with "muster restore".',
  'sqlite-corrupt':
    'Restore a backup into another data folder with "muster restore"; what SQLite cannot read, --accept-loss cannot accept.',
  'sqlite-not-wal': 'Put the data folder on a disk of this machine.',
  'sqlite-not-durable': 'Put the data folder on a disk of this machine.',
};
