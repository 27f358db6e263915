// What the results of a load say. Loss alone hides a translation that became another one: for each flow the other end must have
// seen one address and port from beginning to end, and no two flows may have shared one.
import type { EchoResult, PingResult, PushResult, TcpResult, TrafficResults } from './traffic/results.ts';

export interface OracleLimits {
  /** Of a TCP connection; packets that are not lost may still be late. */
  readonly tcpGapMs?: number;
}

export interface LoadVerdict {
  readonly good: boolean;
  /** Empty when it is good. */
  readonly problems: readonly string[];
  readonly echo: { readonly sent: number; readonly forwardLost: number; readonly returnLost: number };
  readonly push: { readonly sent: number; readonly lost: number };
  readonly ping: { readonly sent: number; readonly lost: number };
  readonly tcp: { readonly connections: number; readonly broken: number };
  readonly duplicates: number;
  /** Packets of any kind that the machine dropped in front of a program of the lab. */
  readonly overruns: number;
  /** Flows that were seen from another address or port than at first, or from none. */
  readonly unstable: readonly number[];
  readonly longestGapMs: {
    readonly forward: number;
    readonly return: number;
    readonly push: number;
    readonly ping: number;
    readonly tcp: number;
  };
}

export function assess(results: TrafficResults, limits: OracleLimits = {}): LoadVerdict {
  const counts = count(results);
  const { overruns = 0 } = results;
  const flows = [...results.echo, ...results.push, ...results.tcp];
  const unstable = flows.filter(({ pairs }) => pairs.length !== 1).map(({ flow }) => flow);
  const problems = [
    ...lossesIn(counts, overruns),
    ...results.echo.flatMap(describeLossTimes),
    ...unstableIn(flows),
    ...sharedIn([...results.echo, ...results.push], 'UDP'),
    ...sharedIn(results.tcp, 'TCP'),
    ...results.tcp.flatMap((one) => tcpProblems(one, limits)),
    ...silenceIn(results),
  ];
  return { good: problems.length === 0, problems, ...counts, overruns, unstable, longestGapMs: gapsIn(results) };
}

/** Whether the machine itself dropped as many packets as were lost: then it is unknown who lost them. */
export function mayBeOverruns({ echo, push, ping, overruns }: LoadVerdict): boolean {
  const lost = echo.forwardLost + echo.returnLost + push.lost + ping.lost;
  return lost > 0 && lost <= overruns;
}

/** Two heartbeats of BFD: whoever waits for the processor as long as that may be taken for lost by others. On a quiet machine it is a fifth of it. */
const HELD_UP_MS = 200;

/**
 * Whether a switch may have been held up until BFD to it was down: packets were late for that long, and none was lost but by the machine. What only
 * receives does not count: a failover cuts it.
 */
export function mayBeHeldUp({ echo, ping, overruns, longestGapMs }: LoadVerdict): boolean {
  const isLate = Math.max(...Object.values(longestGapMs)) >= HELD_UP_MS;
  return isLate && echo.forwardLost + echo.returnLost + ping.lost <= overruns;
}

type Counts = Pick<LoadVerdict, 'echo' | 'push' | 'ping' | 'tcp' | 'duplicates'>;

function count({ echo, push, tcp, ping }: TrafficResults): Counts {
  return {
    echo: {
      sent: sum(echo, ({ sent }) => sent),
      forwardLost: sum(echo, ({ sent, seen }) => sent - seen),
      returnLost: sum(echo, ({ seen, returned }) => seen - returned),
    },
    push: { sent: sum(push, ({ sent }) => sent), lost: sum(push, ({ sent, received }) => sent - received) },
    ping: { sent: sum(ping, ({ sent }) => sent), lost: sum(ping, ({ sent, returned }) => sent - returned) },
    tcp: { connections: tcp.length, broken: tcp.filter(isBroken).length },
    duplicates: sum([...echo, ...push], ({ duplicates }) => duplicates),
  };
}

function lossesIn({ echo, push, ping, duplicates }: Counts, overruns: number): string[] {
  const losses: readonly (readonly [string, number, number])[] = [
    ['echo packets lost on the way there', echo.forwardLost, echo.sent],
    ['echo packets lost on the way back', echo.returnLost, echo.sent - echo.forwardLost],
    ['pushed packets lost', push.lost, push.sent],
    ['pings lost', ping.lost, ping.sent],
    ['packets arrived twice', duplicates, echo.sent + push.sent],
  ];
  const said = losses.filter(([, lost]) => lost !== 0).map(([what, lost, of]) => `${lost} of ${of} ${what}`);
  // No failure by itself: what is dropped may belong to no flow of the load, or is sent again.
  return said.length === 0 || overruns === 0 ? said : [...said, `the machine dropped ${overruns} packets in queues`];
}

/** Services and operations say in their history what happened then. */
function describeLossTimes({ from, lost = [] }: EchoResult): string[] {
  const times = lost.map(({ sentAtMs }) => new Date(sentAtMs).toISOString().slice(11, 23));
  return times.length === 0 ? [] : [`what ${from} lost was sent at ${[...new Set(times)].join(', ')}`];
}

/** A load that sent nothing has shown nothing. */
function silenceIn({ echo, push, ping, tcp }: TrafficResults): string[] {
  const silent = [
    ...echo.filter(({ sent }) => sent === 0).map(({ flow }) => `flow ${flow} sent nothing`),
    ...push.filter(({ sent }) => sent === 0).map(({ flow }) => `flow ${flow} was pushed nothing`),
    ...tcp.filter(({ sentBytes }) => sentBytes === 0).map(({ flow }) => `connection ${flow} carried nothing`),
    ...ping.filter(({ sent }) => sent === 0).map(({ from, to }) => `${from} did not ping ${to}`),
  ];
  const any = echo.length + push.length + ping.length + tcp.length > 0;
  return any ? silent : ['there was no traffic'];
}

interface WithPairs {
  readonly flow: number;
  readonly pairs: readonly string[];
}

function unstableIn(flows: readonly WithPairs[]): string[] {
  return flows
    .filter(({ pairs }) => pairs.length !== 1)
    .map(({ flow, pairs }) =>
      pairs.length === 0 ? `flow ${flow} was never seen` : `flow ${flow} came from ${pairs.join(' and ')}`,
    );
}

function sharedIn(flows: readonly WithPairs[], protocol: string): string[] {
  const owners = new Map<string, number[]>();
  for (const { flow, pairs } of flows) {
    for (const pair of pairs) owners.set(pair, [...(owners.get(pair) ?? []), flow]);
  }
  return [...owners]
    .filter(([, who]) => who.length > 1)
    .map(([pair, who]) => `${protocol} ${pair} was used by flows ${who.join(', ')}`);
}

function isBroken({ failure, sentBytes, receivedBytes }: TcpResult): boolean {
  return failure !== undefined || sentBytes !== receivedBytes;
}

function tcpProblems(one: TcpResult, { tcpGapMs }: OracleLimits): string[] {
  const { flow, direction, failure, sentBytes, receivedBytes, gapMs } = one;
  if (isBroken(one)) {
    const why = failure ?? 'bytes are missing';
    return [`${direction} ${flow} broke: ${why} (${receivedBytes} of ${sentBytes} bytes)`];
  }
  return tcpGapMs !== undefined && gapMs > tcpGapMs ? [`${direction} ${flow} stood still for ${gapMs} ms`] : [];
}

function gapsIn({ echo, push, ping, tcp }: TrafficResults): LoadVerdict['longestGapMs'] {
  return {
    forward: most(echo, (one: EchoResult) => one.forwardGapMs),
    return: most(echo, (one: EchoResult) => one.returnGapMs),
    push: most(push, (one: PushResult) => one.gapMs),
    ping: most(ping, (one: PingResult) => one.longestGapMs),
    tcp: most(tcp, (one: TcpResult) => one.gapMs),
  };
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

function most<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((highest, item) => Math.max(highest, of(item)), 0);
}
