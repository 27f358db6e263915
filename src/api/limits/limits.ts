// What one caller may take of this server.
import { connectionLimits, descriptorLimit, type ConnectionLimits } from './connection-limits.ts';

export interface ServerLimits extends ConnectionLimits {
  readonly bodyBytes: number;
  readonly perTokenPerSecond: number;
  readonly perAddressPerSecond: number;
  /** How long a client may take for the headers of a request, or for its TLS handshake. */
  readonly headersMs: number;
  /** How long it may then take for the body, unless the route says otherwise. */
  readonly bodyMs: number;
  /** Requests of one token that are being answered. */
  readonly requestsPerToken: number;
  /** Streams open at once; of one token; and the share of all that only administrators get, from 0 to 1. */
  readonly streams: number;
  readonly streamsPerToken: number;
  readonly streamsAdminShare: number;
  /** Reads of the store for history and for watchers that are far behind, at once; of one token; for administrators alone. */
  readonly readsAtOnce: number;
  readonly readsPerToken: number;
  readonly readsReservedForAdmins: number;
  /** Reads of one token that wait for their turn. */
  readonly readsWaitingPerToken: number;
  /** Requests that look at another system, such as the API of a Kubernetes cluster, at once; of one token; for administrators alone. */
  readonly looksAtOnce: number;
  readonly looksPerToken: number;
  readonly looksReservedForAdmins: number;
  readonly looksWaitingPerToken: number;
  /** Calls with a body in lines at once, and of one token. */
  readonly bulkCalls: number;
  readonly bulkCallsPerToken: number;
}

export const DEFAULT_LIMITS: ServerLimits = {
  ...connectionLimits(descriptorLimit()),
  // Large enough for joining a thousand hosts at once.
  bodyBytes: 1024 * 1024,
  // Far above any person or script that means well, far below what one server answers.
  perTokenPerSecond: 1000,
  // Enough for probes; too few to guess tokens.
  perAddressPerSecond: 50,
  // A slow connection needs a second or two; a client that takes longer occupies a descriptor for nothing.
  headersMs: 10_000,
  bodyMs: 30_000,
  // Each holds a socket and, when its reader is slow, a page of commits.
  streams: 1000,
  // A dashboard in every tab of a team's browsers; a tenth of all, so that one token never takes them from the others.
  streamsPerToken: 100,
  // An administrator who investigates is not locked out by other callers.
  streamsAdminShare: 0.02,
  // More than the connections of any client pool that is in use; one script cannot take them all.
  requestsPerToken: 256,
  // A PostgreSQL store has few connections to read with, SQLite one thread: more at once would only wait there.
  readsAtOnce: 4,
  readsPerToken: 2,
  readsReservedForAdmins: 1,
  // A page each: a script that reads ahead is served in turn, one that runs wild is refused.
  readsWaitingPerToken: 32,
  // A system that does not answer keeps each for some seconds; those of other callers continue meanwhile.
  looksAtOnce: 8,
  looksPerToken: 2,
  looksReservedForAdmins: 1,
  looksWaitingPerToken: 16,
  // Each has up to a hundred thousand values in memory.
  bulkCalls: 4,
  bulkCallsPerToken: 1,
};
