// Keeps the MAC addresses of next hops outside known: whom to ask now, what is known, who does not answer any more. A MAC address that was
// known is kept while nobody answers: a next hop that is silent for a while is better tried than dropped.
import type { NeighbourBinding } from './next-hop-frames.ts';

/** An address, in the network outside that it is asked for in. */
export interface NextHop {
  readonly network: string;
  readonly ip: string;
}

export interface NextHopState extends NextHop {
  readonly mac?: string;
  readonly answeredAtMs?: number;
  readonly queriedAtMs?: number;
  /** When the first question was asked that nobody answered since. */
  readonly unansweredSinceMs?: number;
  /** Questions since the last answer. */
  readonly queries: number;
}

/** In the order of networks and addresses. */
export type NextHopTable = readonly NextHopState[];

/** Known ones are asked again after this, in case they moved without a word. */
export const REFRESH_MS = 30_000;
/** After each question that nobody answered; the last one from then on. */
const RETRY_DELAYS_MS: readonly [number, ...number[]] = [200, 200, 500, 1000, 2000, 5000];
/** So many unanswered questions make a known address stale. */
const STALE_AFTER = 3;

/** Those that are wanted, with what is known of them; the others are forgotten. */
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
  /** To be asked now. */
  readonly queries: readonly NextHop[];
  /** How it stands once they have been. */
  readonly table: NextHopTable;
  /** When to look again; undefined when there is nobody to ask. */
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
  /** `first`: it was unknown. `moved`: it is another than before. `same`: it answered. `unwanted`: nobody asked for it. */
  readonly outcome: 'first' | 'moved' | 'same' | 'unwanted';
}

/** What was said in a network outside. */
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
  /** `stale`: it was known, and does not answer any more. */
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
