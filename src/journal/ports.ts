// The world as parameters: time, ids and a log. Nothing outside adapters reads a clock or draws a random number.

export interface Clock {
  /** Wall-clock time in milliseconds since 1970. */
  nowMs(): number;
  /** How far, in all, the clock was set ahead while this process ran: so much of the time in `nowMs` has not passed. Absent where it cannot be set. */
  jumpedMs?(): number;
  /** Resolves after `ms`; earlier when `signal` is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Lets everything that is already waiting run first: one turn of the event loop. */
  turn(): Promise<void>;
}

export interface Ids {
  /** A new id that sorts by time of creation, such as `op-01jd8x2k9v7q3f`. */
  next(prefix: string): string;
  /** A secret of 256 bits, as text that is safe in URLs. */
  secret(): string;
}

/** The little of a logger that controllers use; pino has this shape. */
export interface Log {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}
