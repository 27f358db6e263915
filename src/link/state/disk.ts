// Where a program that dials the control plane keeps what it may not forget. Types and one error: nothing is read or written here.

/** The disk refused: full, read-only, broken. Nothing was changed on it. */
export class DiskFailed extends Error {
  readonly code: string = 'disk-failed';
  readonly retryable = true;

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'DiskFailed';
  }
}

export interface WriteOptions {
  /** A copy is kept beside it, of this version or of the one before. */
  readonly keepsCopy?: boolean;
}

/** A write is all there or not at all, and durable when it resolves; it rejects with `DiskFailed`. */
export interface StateDisk<Name extends string> {
  read(name: Name): Promise<string | undefined>;
  write(name: Name, text: string, options?: WriteOptions): Promise<void>;
  /** The copy of a file that was written with one. Absent on disks that keep none. */
  readCopy?(name: Name): Promise<string | undefined>;
}
