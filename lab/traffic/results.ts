// What came of a load, flow by flow, both ends put together. A gap is how long nothing arrived beyond the pace of the flow, so that slow
// flows and fast ones compare.
import type { ClientResult, LostPacket, ServedFlow } from './messages.ts';
import type { PingStats } from './ping.ts';

export interface EchoResult {
  readonly flow: number;
  readonly from: string;
  readonly sent: number;
  /** By the end that answers. */
  readonly seen: number;
  readonly returned: number;
  readonly duplicates: number;
  readonly forwardGapMs: number;
  readonly returnGapMs: number;
  /** The addresses and ports that the other end saw it come from. */
  readonly pairs: readonly string[];
  /** What did not come back, the first of it. */
  readonly lost?: readonly LostPacket[];
}

export interface PushResult {
  readonly flow: number;
  readonly to: string;
  readonly sent: number;
  readonly received: number;
  readonly duplicates: number;
  readonly gapMs: number;
  readonly pairs: readonly string[];
}

export interface TcpResult {
  readonly flow: number;
  readonly from: string;
  readonly direction: 'upload' | 'download';
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly gapMs: number;
  readonly pairs: readonly string[];
  /** Undefined for a connection that came to its end as it should. */
  readonly failure?: string;
}

export interface PingResult extends PingStats {
  readonly from: string;
  readonly to: string;
}

export interface TrafficResults {
  readonly echo: readonly EchoResult[];
  readonly push: readonly PushResult[];
  readonly tcp: readonly TcpResult[];
  readonly ping: readonly PingResult[];
  /** What the kernel dropped in front of a program of the lab that did not read in time; absent where it was not counted. */
  readonly overruns?: number;
}

export interface FromSource {
  readonly source: string;
  readonly results: readonly ClientResult[];
}

export function combineResults(
  sources: readonly FromSource[],
  served: readonly ServedFlow[],
): Omit<TrafficResults, 'ping' | 'overruns'> {
  const seen = new Map(served.map((one) => [one.flow, one]));
  const all = sources.flatMap(({ source, results }) => results.map((one) => ({ source, one, at: seen.get(one.flow) })));
  return {
    echo: all.filter(({ one }) => one.kind === 'echo').map(echoOf),
    push: all.filter(({ one }) => one.kind === 'push').map(pushOf),
    tcp: all.filter(({ one }) => one.kind === 'upload' || one.kind === 'download').map(tcpOf),
  };
}

interface BothEnds {
  readonly source: string;
  readonly one: ClientResult;
  /** Undefined when nothing of the flow arrived. */
  readonly at: ServedFlow | undefined;
}

export function excessGapMs(arrived: { readonly longestGapMs: number } | undefined, everyMs: number): number {
  return Math.max(0, Math.round(((arrived?.longestGapMs ?? 0) - everyMs) * 10) / 10);
}

function echoOf({ source, one, at }: BothEnds): EchoResult {
  return {
    flow: one.flow,
    from: source,
    sent: one.sent,
    seen: at?.packets ?? 0,
    returned: one.packets,
    duplicates: one.duplicates + (at?.duplicates ?? 0),
    forwardGapMs: excessGapMs(at, one.everyMs),
    returnGapMs: excessGapMs(one, one.everyMs),
    pairs: at?.pairs ?? [],
    ...(one.lost !== undefined && { lost: one.lost }),
  };
}

function pushOf({ source, one, at }: BothEnds): PushResult {
  return {
    flow: one.flow,
    to: source,
    sent: at?.sent ?? 0,
    received: one.packets,
    duplicates: one.duplicates,
    gapMs: excessGapMs(one, one.everyMs),
    pairs: at?.pairs ?? [],
  };
}

function tcpOf({ source, one, at }: BothEnds): TcpResult {
  const upload = one.kind === 'upload';
  return {
    flow: one.flow,
    from: source,
    direction: upload ? 'upload' : 'download',
    sentBytes: upload ? one.sent : (at?.sent ?? 0),
    receivedBytes: upload ? (at?.receivedBytes ?? 0) : one.receivedBytes,
    gapMs: excessGapMs(upload ? at : one, one.everyMs),
    pairs: at?.pairs ?? [],
    ...(one.failure !== undefined && { failure: one.failure }),
  };
}
