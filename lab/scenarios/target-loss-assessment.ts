// What the loss of a host says to which a translation was just switched: the old one still has the connections and continues with them, soon, and
// from the same address and port outside.
import type { LoadVerdict } from '../oracle.ts';
import { ECHO_PER_SECOND, PUSH_PER_SECOND } from '../traffic/usual-load.ts';

/** From the moment that all others miss it until nothing is late any more: the designation, and the views of those that stay. */
const RESTORED_WITHIN_MS = 700;

export interface Ends {
  readonly from: number;
  readonly to: number;
}

export interface TargetLoss {
  /** After the kill. */
  readonly noticedMs: number;
  /** The host that had the translation next. */
  readonly designated: number;
}

/** Packets that were under way are lost; no connection is, and none of them becomes another one outside. */
export function assessTargetLoss(verdict: LoadVerdict, { from }: Ends, loss: TargetLoss | undefined): string[] {
  if (loss === undefined) return ['the new host was not lost'];
  const { designated, noticedMs } = loss;
  const limitMs = noticedMs + RESTORED_WITHIN_MS;
  return [
    ...(designated === from ? [] : [`h${designated} is designated, and the old host h${from} has the connections`]),
    ...lateIn(verdict, limitMs),
    ...(verdict.push.sent === 0 ? ['nothing was only received'] : []),
    ...verdict.unstable.map((flow) => `flow ${flow} did not keep its address and port`),
    ...(verdict.tcp.broken === 0 ? [] : [`${verdict.tcp.broken} of ${verdict.tcp.connections} TCP connections broke`]),
  ];
}

/** What never comes again has no gap: it shows in how much was lost. */
function lateIn({ echo, push, longestGapMs }: LoadVerdict, limitMs: number): string[] {
  const flows = [
    {
      what: 'what is sent',
      gapMs: longestGapMs.forward,
      lost: echo.forwardLost + echo.returnLost,
      perSecond: ECHO_PER_SECOND,
    },
    { what: 'what is only received', gapMs: longestGapMs.push, lost: push.lost, perSecond: PUSH_PER_SECOND },
  ];
  return flows.flatMap(({ what, gapMs, lost, perSecond }) => {
    const lostMax = Math.ceil((perSecond * limitMs) / 1000);
    return [
      ...(gapMs > limitMs ? [`${what} stood still for ${gapMs} ms, and may for ${limitMs} ms`] : []),
      ...(lost > lostMax ? [`${lost} packets of ${what} were lost, and ${lostMax} may be`] : []),
    ];
  });
}
