// What one caller may take of this server.
export interface Limits {
  readonly bodyBytes: number;
  readonly perTokenPerSecond: number;
  readonly perAddressPerSecond: number;
  /** Streams open at once. */
  readonly streams: number;
}

export const DEFAULT_LIMITS: Limits = {
  // Room for joining a thousand hosts at once.
  bodyBytes: 1024 * 1024,
  // Far above any person or script that means well, far below what one server answers.
  perTokenPerSecond: 1000,
  // Enough for probes; too few to guess tokens.
  perAddressPerSecond: 50,
  // Each holds a socket and, when its reader is slow, a page of commits.
  streams: 1000,
};
