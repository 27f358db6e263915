// How many connections a process may have, from how many files it may open: some descriptors are reserved for the store, the lease,
// logs and administrators, however many clients connect.
import { readFileSync } from 'node:fs';

export interface ConnectionLimits {
  /** All together. */
  readonly connections: number;
  /** In addition to all others, for requests of administrators only. */
  readonly connectionsReservedForAdmins: number;
  readonly connectionsPerToken: number;
  /** Connections of one address on which no valid token came yet. */
  readonly anonymousPerAddress: number;
}

/** The store's files or connections, its threads, logs, outgoing requests to the holder and to back ends, and some to spare. */
const DESCRIPTORS_RESERVED = 128;
const RESERVED_FOR_ADMINS = 16;
/** Above what one client pool opens, and above `requestsPerToken`: the connections of a proxy count for the caller that used them last. */
const PER_TOKEN_MAX = 512;
/** Far above the backlog of a listening socket: agents behind one address that come back all at once are strangers until a busy server has read their requests. */
const ANONYMOUS_PER_ADDRESS_MAX = 4096;
/** The default limit of Linux; Node raises it to the hard limit when it starts. */
const DESCRIPTORS_UNKNOWN = 1024;

export function connectionLimits(descriptors: number): ConnectionLimits {
  const connections = Math.max(RESERVED_FOR_ADMINS, descriptors - DESCRIPTORS_RESERVED - RESERVED_FOR_ADMINS);
  const share = Math.ceil(connections / 4);
  return {
    connections,
    connectionsReservedForAdmins: RESERVED_FOR_ADMINS,
    connectionsPerToken: Math.min(PER_TOKEN_MAX, share),
    anonymousPerAddress: Math.min(ANONYMOUS_PER_ADDRESS_MAX, share),
  };
}

/** How many files this process may have open. */
export function descriptorLimit(): number {
  let text: string;
  try {
    text = readFileSync('/proc/self/limits', 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return DESCRIPTORS_UNKNOWN;
    throw error;
  }
  return descriptorsIn(text);
}

export function descriptorsIn(limits: string): number {
  const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? [];
  if (soft === undefined) return DESCRIPTORS_UNKNOWN;
  // More is of no use: memory runs out long before a million connections.
  return soft === 'unlimited' ? 1024 * 1024 : Number(soft);
}
