// Keeps the MAC addresses of next hops outside known: whom to ask now, what is known, who does not answer any more. A MAC address that was
// known is kept while nobody answers: a next hop that is silent for a while is better tried than dropped.
import type { Said } from './resolve-frames.ts';

/** An address, in the network outside that it is asked for in. */
export interface NextHop {
  readonly network: string;
  readonly ip: string;
}

export interface HopState extends NextHop {
  readonly mac?: string;
  readonly answeredAtMs?: number;
  readonly askedAtMs?: number;
  /** When the first question was asked that nobody answered since. */
  readonly unansweredSinceMs?: number;
  /** Questions since the last answer. */
  readonly asked: number;
}

/** In the order of networks and addresses. */
export type Resolving = readonly HopState[];

/** Known ones are asked again after this, in case they moved without a word. */
export const ASK_AGAIN_MS = 30_000;
/** After each question that nobody answered; the last one from then on. */
const UNANSWERED_MS: readonly [number, ...number[]] = [200, 200, 500, 1000, 2000, 5000];
/** So many unanswered questions make a known address stale. */
const STALE_AFTER = 3;

/** Those that are wanted, with what is known of them; the others are forgotten. */
export function resolvingOf(before: Resolving, wanted: readonly NextHop[]): Resolving {
  const states = new Map(before.map((state) => [keyOf(state), state]));
  const hops = new Map(wanted.map((hop) => [keyOf(hop), hop]));
  return [...hops]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, { network, ip }]) => states.get(key) ?? { network, ip, asked: 0 });
}

function keyOf({ network, ip }: NextHop): string {
  return `${network} ${ip}`;
}

export interface Asking {
  /** To be asked now. */
  readonly ask: readonly NextHop[];
  /** How it stands once they have been. */
  readonly after: Resolving;
  /** When to look again; undefined when there is nobody to ask. */
  readonly nextAtMs?: number;
}

export function askNow(resolving: Resolving, nowMs: number): Asking {
  const ask = resolving.filter((hop) => dueAtMs(hop) <= nowMs).map(({ network, ip }) => ({ network, ip }));
  const after = resolving.map((hop) => (dueAtMs(hop) <= nowMs ? askedAt(hop, nowMs) : hop));
  const dueAt = after.map(dueAtMs);
  return { ask, after, ...(dueAt.length === 0 ? {} : { nextAtMs: Math.min(...dueAt) }) };
}

function askedAt(hop: HopState, nowMs: number): HopState {
  return { ...hop, askedAtMs: nowMs, unansweredSinceMs: hop.unansweredSinceMs ?? nowMs, asked: hop.asked + 1 };
}

function dueAtMs({ asked, askedAtMs, answeredAtMs }: HopState): number {
  if (asked === 0) return answeredAtMs === undefined ? Number.NEGATIVE_INFINITY : answeredAtMs + ASK_AGAIN_MS;
  const waitMs = UNANSWERED_MS[asked - 1] ?? UNANSWERED_MS.at(-1) ?? ASK_AGAIN_MS;
  return (askedAtMs ?? 0) + waitMs;
}

export interface Learned {
  readonly after: Resolving;
  /** `first`: it was unknown. `moved`: it is another than before. `same`: it answered. `unwanted`: nobody asked for it. */
  readonly news: 'first' | 'moved' | 'same' | 'unwanted';
}

/** What was said in a network outside. */
export function learn(resolving: Resolving, said: Said & { readonly network: string }, nowMs: number): Learned {
  const hop = resolving.find(({ network, ip }) => network === said.network && ip === said.ip);
  if (hop === undefined) return { after: resolving, news: 'unwanted' };
  const { network, ip } = hop;
  const known: HopState = { network, ip, mac: said.mac, answeredAtMs: nowMs, asked: 0 };
  const news = hop.mac === undefined ? 'first' : hop.mac === said.mac ? 'same' : 'moved';
  return { after: resolving.map((each) => (each === hop ? known : each)), news };
}

export interface ResolvedHop extends NextHop {
  /** `stale`: it was known, and does not answer any more. */
  readonly state: 'unknown' | 'known' | 'stale';
  readonly mac?: string;
  readonly unansweredSinceMs?: number;
}

export function resolved(resolving: Resolving): readonly ResolvedHop[] {
  return resolving.map(({ network, ip, mac, unansweredSinceMs, asked }) => {
    const stale = asked > STALE_AFTER;
    return {
      network,
      ip,
      state: mac === undefined ? 'unknown' : stale ? 'stale' : 'known',
      ...(mac === undefined ? {} : { mac }),
      ...(unansweredSinceMs === undefined ? {} : { unansweredSinceMs }),
    };
  });
}
