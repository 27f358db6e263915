// The load that handovers are assessed by: echo from several instances, a stream that one of them only receives, and what else the caller
// adds. The figures are the reference's: 1500 packets a second there and back, 200 a second one way, for 6 s.
import type { ClientFlow } from './messages.ts';

export interface UsualLoad {
  readonly address: string;
  readonly port: number;
  /** From all sources together. */
  readonly echoPerSecond: number;
  readonly pushPerSecond: number;
  /** Every source sends from this port, and begins flows from those after it: translation finds others for all but the first. */
  readonly sourcePort?: number;
  /** How often it was run: what begins, begins from ports that have no connection yet. */
  readonly nth?: number;
  /** One connection each way, from different sources where there are several. */
  readonly tcp: boolean;
  /** A new flow every so often, from every source. */
  readonly beginning: boolean;
}

export const ECHO_PER_SECOND = 1500;
export const PUSH_PER_SECOND = 200;
export const LOAD_MS = 6000;

/** About 400 kB a second: enough to see a gap, little enough to leave the processor to the packets. */
const TCP = { everyMs: 10, bytes: 4096 };
const BEGINNING = { newEveryMs: 100, packets: 20, everyMs: 100, most: 2000 };
/** More than begin while a load lasts. */
const STARTED_MAX = 1000;
/** Room for the numbers of one source's flows that begin. */
const NUMBERS = 10_000;

/** The flows of each source. */
export function usualFlows(sources: number, load: UsualLoad): readonly (readonly ClientFlow[])[] {
  const { address, port, sourcePort, nth = 0 } = load;
  const to = { address, port };
  const fixed = sourcePort === undefined ? {} : { sourcePort };
  return Array.from({ length: sources }, (_, index): ClientFlow[] => {
    const number = index * NUMBERS + 1;
    const last = index === sources - 1;
    return [
      { kind: 'echo', flow: number, ...to, ...fixed, everyMs: (1000 * sources) / load.echoPerSecond },
      ...when(last && load.pushPerSecond > 0, {
        kind: 'push' as const,
        flow: number + 1,
        ...to,
        everyMs: 1000 / load.pushPerSecond,
      }),
      ...when(load.tcp && index === 0, { kind: 'upload' as const, flow: number + 2, ...to, ...TCP }),
      ...when(load.tcp && last, { kind: 'download' as const, flow: number + 3, ...to, ...TCP }),
      ...when(load.beginning, {
        kind: 'beginning' as const,
        flow: number + 4,
        ...to,
        ...(sourcePort !== undefined && { sourcePort: sourcePort + 1 + nth * STARTED_MAX }),
        ...BEGINNING,
      }),
    ];
  });
}

function when<T>(isRequested: boolean, flow: T): T[] {
  return isRequested ? [flow] : [];
}
