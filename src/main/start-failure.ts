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
  const why =
    code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
      ? 'it may not be written to'
      : code === 'ENOTDIR'
        ? 'it is not a folder'
        : code === 'ENOENT'
          ? 'no folder can be made there'
          : isDiskFull(error)
            ? 'the disk is full'
            : message;
  const toDo = why === 'the disk is full' ? 'Free some space there' : 'Make it writable';
  return new StartFailure(`The data folder ${folder} cannot be used: ${why}. ${toDo}, or name another with --data.`, {
    cause: error,
  });
}

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
        ? 'this machine does not have that address'
        : code === 'EACCES'
          ? 'ports below 1024 need more rights'
          : message;
  return new StartFailure(`Cannot listen on ${listen}: ${why}.`, { cause: error });
}

/** Undefined for a bug, which must be shown as it is. */
export function cannotOpenStore(store: string, error: unknown): StartFailure | undefined {
  if (error instanceof StoreUnusable || error instanceof StoreUnavailable) {
    return new StartFailure(`The store ${store} cannot be used: ${error.message}.`, { cause: error });
  }
  return undefined;
}
