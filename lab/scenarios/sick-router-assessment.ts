// What two scale-ins of one host say, the second beside a router whose next hop outside does not answer: whether the healthy services and
// the instances left as before, whether every answer says why the sick one does not, and whether the host came back with it.

/** One `scale-in start`, watched until everything that can leave has left, or the wait has timed out. */
export interface RouterDeparture {
  /** What was there and had to leave: services by id, instances by name. */
  readonly services: readonly string[];
  readonly instances: readonly string[];
  /** Those of them that are still there. */
  readonly stayed: readonly string[];
  /** From the start until the last of these services was designated elsewhere, by the clock of the server. */
  readonly switchedMs: number;
  /** From the start until no handover of them was open. */
  readonly handoverMs: number;
  /** From the start until the last instance was elsewhere. */
  readonly emptiedMs: number;
}

/** Where an operator looks, and what is written there. */
export type ReportedReasons = Readonly<Record<string, string>>;

export interface Recovery {
  readonly stateAfter: string;
  readonly durationMs: number;
  /** Where the sick service is after it. */
  readonly sickAt: string | undefined;
  /** Whether the handover that the scale-in began for it is over. */
  readonly hasEnded: boolean;
}

export interface SickRun {
  readonly leaving: string;
  readonly reason: string;
  readonly without: RouterDeparture;
  readonly beside: RouterDeparture;
  readonly reportedReasons: ReportedReasons;
  readonly recovery: Recovery;
}

export function assessSickRun({ leaving, reason, without, beside, reportedReasons, recovery }: SickRun): string[] {
  return [
    ...stayedIn(without, 'without the sick router'),
    ...stayedIn(beside, 'beside the sick router'),
    ...missingIn(without, beside),
    ...Object.entries(reportedReasons).flatMap(([place, text]) =>
      text.includes(reason) ? [] : [`${place} does not say "${reason}" but "${text}"`],
    ),
    ...(recovery.stateAfter === 'active' ? [] : [`${leaving} is ${recovery.stateAfter} after recover`]),
    ...(recovery.sickAt === leaving ? [] : [`recover left the sick service at ${recovery.sickAt ?? 'nobody'}`]),
    ...(recovery.hasEnded ? [] : ['the handover of the sick service goes on after recover']),
  ];
}

function stayedIn({ stayed }: RouterDeparture, when: string): string[] {
  return stayed.map((one) => `${one} did not leave ${when}`);
}

/** Healthy services beside a sick one may take so many times as long as without it, which other work on the machine multiplies as well. */
const SLOWER_MAX = 3;
/** Below this it is chance what takes how long. */
const SWITCH_MIN_MS = 3000;
/** It waits for nothing but its own view. */
const RECOVER_MAX_MS = 10_000;

/** Whether the healthy were held up, and the recover. A machine that is busy with something else says nothing about it. */
export function assessSickTimes({ without, beside, recovery: { durationMs } }: SickRun): string[] {
  const limitMs = Math.max(SLOWER_MAX * without.switchedMs, SWITCH_MIN_MS);
  const [after, before, limit, recovered] = [beside.switchedMs, without.switchedMs, limitMs, durationMs].map(
    Math.round,
  );
  // What was never switched has no time, and is named by the assessment on what stayed.
  return [
    ...(beside.switchedMs > limitMs
      ? [`healthy services switched after ${after} ms, and may take ${limit} ms (without the sick router ${before} ms)`]
      : []),
    ...(durationMs > RECOVER_MAX_MS ? [`recover took ${recovered} ms, and may take ${RECOVER_MAX_MS} ms`] : []),
  ];
}

/** What left without the sick router has to leave beside it, or the two cannot be compared; and nothing that leaves shows nothing. */
function missingIn(without: RouterDeparture, beside: RouterDeparture): string[] {
  const kinds = ['services', 'instances'] as const;
  return kinds.flatMap((kind) => {
    if (without[kind].length === 0) return [`no ${kind} had to leave`];
    const absent = without[kind].filter((one) => !beside[kind].includes(one));
    return absent.map((one) => `${one} was not there the second time`);
  });
}

export function figuresOf({ without, beside, recovery }: SickRun): string[] {
  const both = (of: (one: RouterDeparture) => number): string => {
    const [before, after] = [of(without), of(beside)];
    return `${Math.round(after)} ms (without the sick router ${Math.round(before)} ms, ratio ${(after / before).toFixed(2)})`;
  };
  return [
    `${beside.services.length} healthy services switched after ${both((one) => one.switchedMs)}`,
    `handed over after ${both((one) => one.handoverMs)}`,
    `${beside.instances.length} instances left after ${both((one) => one.emptiedMs)}`,
    `recovered after ${Math.round(recovery.durationMs)} ms`,
  ];
}
