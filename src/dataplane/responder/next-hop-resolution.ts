// Keeps the MAC addresses of external next hops resolved: which to query now, which are known, which are silent. A known MAC address is
// kept while the next hop is silent: trying it is better than dropping.
import type { NeighbourBinding } from './next-hop-frames.ts';

/** An address, in the external network in which it is resolved. */
export interface NextHop {
  readonly network: string;
  readonly ip: string;
}

export interface NextHopState extends NextHop {
  readonly mac?: string;
  readonly answeredAtMs?: number;
  readonly queriedAtMs?: number;
  /** The time of the first query since the last reply. */
  readonly unansweredSinceMs?: number;
  /** Queries since the last reply. */
  readonly queries: number;
}

/** In the order of networks and addresses. */
export type NextHopTable = readonly NextHopState[];

/** A known address is queried again after this, in case it moved without an announcement. */
export const REFRESH_MS = 30_000;
/** Delays after each unanswered query; the last one from then on. */
const RETRY_DELAYS_MS: readonly [number, ...number[]] = [200, 200, 500, 1000, 2000, 5000];
/** This many unanswered queries make a known address stale. */
const STALE_AFTER = 3;

/** The required next hops with their known state; others are dropped. */
export function updateNextHops(before: NextHopTable, wanted: readonly NextHop[]): NextHopTable {
  const states = new Map(before.map((state) => [keyOf(state), state]));
  const hops = new Map(wanted.map((hop) => [keyOf(hop), hop]));
  return [...hops]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, { network, ip }]) => states.get(key) ?? { network, ip, queries: 0 });
}

function keyOf({ network, ip }: NextHop): string {
  return `${network} ${ip}`;
}

export interface QueryPlan {
  /** To be queried now. */
  readonly queries: readonly NextHop[];
  /** The state once they have been queried. */
  readonly table: NextHopTable;
  /** When to check again; undefined when there is nothing to resolve. */
  readonly nextAtMs?: number;
}

export function planQueries(resolving: NextHopTable, nowMs: number): QueryPlan {
  const queries = resolving.filter((hop) => dueAtMs(hop) <= nowMs).map(({ network, ip }) => ({ network, ip }));
  const table = resolving.map((hop) => (dueAtMs(hop) <= nowMs ? markQueried(hop, nowMs) : hop));
  const dueAt = table.map(dueAtMs);
  return { queries, table, ...(dueAt.length === 0 ? {} : { nextAtMs: Math.min(...dueAt) }) };
}

function markQueried(hop: NextHopState, nowMs: number): NextHopState {
  return { ...hop, queriedAtMs: nowMs, unansweredSinceMs: hop.unansweredSinceMs ?? nowMs, queries: hop.queries + 1 };
}

function dueAtMs({ queries, queriedAtMs, answeredAtMs }: NextHopState): number {
  if (queries === 0) return answeredAtMs === undefined ? Number.NEGATIVE_INFINITY : answeredAtMs + REFRESH_MS;
  const waitMs = RETRY_DELAYS_MS[queries - 1] ?? RETRY_DELAYS_MS.at(-1) ?? REFRESH_MS;
  return (queriedAtMs ?? 0) + waitMs;
}

export interface LearnResult {
  readonly table: NextHopTable;
  /** `first`: it was unknown. `moved`: it changed. `same`: it is unchanged. `unwanted`: it was not queried. */
  readonly outcome: 'first' | 'moved' | 'same' | 'unwanted';
}

/** A reply in an external network. */
export function learnBinding(
  resolving: NextHopTable,
  binding: NeighbourBinding & { readonly network: string },
  nowMs: number,
): LearnResult {
  const hop = resolving.find(({ network, ip }) => network === binding.network && ip === binding.ip);
  if (hop === undefined) return { table: resolving, outcome: 'unwanted' };
  const { network, ip } = hop;
  const known: NextHopState = { network, ip, mac: binding.mac, answeredAtMs: nowMs, queries: 0 };
  const outcome = hop.mac === undefined ? 'first' : hop.mac === binding.mac ? 'same' : 'moved';
  return { table: resolving.map((each) => (each === hop ? known : each)), outcome };
}

export interface ResolvedNextHop extends NextHop {
  /** `stale`: it was known, and no longer answers. */
  readonly state: 'unknown' | 'known' | 'stale';
  readonly mac?: string;
  readonly unansweredSinceMs?: number;
}

export function listNextHops(resolving: NextHopTable): readonly ResolvedNextHop[] {
  return resolving.map(({ network, ip, mac, unansweredSinceMs, queries }) => {
    const stale = queries > STALE_AFTER;
    return {
      network,
      ip,
      state: mac === undefined ? 'unknown' : stale ? 'stale' : 'known',
      ...(mac === undefined ? {} : { mac }),
      ...(unansweredSinceMs === undefined ? {} : { unansweredSinceMs }),
    };
  });
}
