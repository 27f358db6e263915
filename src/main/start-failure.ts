// Why a server does not start, in words for whoever started it.
import { StoreUnavailable, StoreUnusable } from '../journal/index.ts';

/** Nothing was started, and this is why. */
export class CannotStart extends Error {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'CannotStart';
  }
}

export function cannotOpenFolder(folder: string, error: unknown): CannotStart {
  const { code, message } = error as NodeJS.ErrnoException;
  const why =
    code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
      ? 'it may not be written to'
      : code === 'ENOTDIR'
        ? 'it is not a folder'
        : code === 'ENOENT'
          ? 'no folder can be made there'
          : message;
  return new CannotStart(
    `The data folder ${folder} cannot be used: ${why}. Make it writable, or name another with --data.`,
    { cause: error },
  );
}

export function cannotListen(listen: string, error: unknown): CannotStart {
  const { code, message } = error as NodeJS.ErrnoException;
  const why =
    code === 'EADDRINUSE'
      ? 'something listens there already. Stop it, or listen elsewhere with --listen'
      : code === 'EADDRNOTAVAIL'
        ? 'this machine does not have that address'
        : code === 'EACCES'
          ? 'ports below 1024 need more rights'
          : message;
  return new CannotStart(`Cannot listen on ${listen}: ${why}.`, { cause: error });
}

/** Undefined for a bug, which is to be seen as it is. */
export function cannotOpenStore(store: string, error: unknown): CannotStart | undefined {
  if (error instanceof StoreUnusable || error instanceof StoreUnavailable) {
    return new CannotStart(`The store ${store} cannot be used: ${error.message}.`, { cause: error });
  }
  return undefined;
}
