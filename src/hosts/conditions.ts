// What a host's agent reports of the parts that it drives, its switch and its instance runtime, and of itself. A trouble that lasts makes the host
// degraded, quiet that lasts ends it. Reports stay in memory; only transitions are committed, and the fewer the more it flaps.
import { Type, type Static } from 'typebox';
import { setting } from '../fleet/index.ts';

const CLOSED = { additionalProperties: false };

/** What agents report. Servers of other versions refuse a heartbeat with a type that they do not know: another one needs a feature. */
const REPORTED_TYPES = ['switch', 'instance-runtime'] as const;
/** `agent` is made by the server, of the problems in an agent's report. */
export const CONDITION_TYPES = [...REPORTED_TYPES, 'agent'] as const;
export type ConditionType = (typeof CONDITION_TYPES)[number];

/** One of each known type, and as many of types that are not known yet. */
export const CONDITIONS_MAX = 4;
export const CONDITION_MESSAGE_MAX = 200;

const FACTS = {
  /** A stable word for the cause, such as `unreachable`. */
  code: Type.String({ pattern: '^[a-z][a-z0-9-]{0,49}$' }),
  message: Type.String({ maxLength: CONDITION_MESSAGE_MAX }),
  /** Its data path is known to be down, too: nothing is forwarded there. Absent means unknown. */
  cannotServe: Type.Optional(Type.Literal(true)),
};

/** A failing part. Healthy parts are not reported. */
export const REPORTED_CONDITION = Type.Object({ type: Type.Enum(REPORTED_TYPES), ...FACTS }, CLOSED);
export type ReportedCondition = Static<typeof REPORTED_CONDITION>;

/** The failing parts of a host, each with the time since when it counts. */
export const DEGRADED = Type.Array(
  Type.Object({ type: Type.Enum(CONDITION_TYPES), ...FACTS, sinceMs: Type.Integer() }, CLOSED),
  { minItems: 1, maxItems: CONDITIONS_MAX },
);
export type Condition = Omit<Static<typeof DEGRADED>[number], 'sinceMs'>;
export type Degraded = Static<typeof DEGRADED>;

export const CONDITIONS = setting('conditions', {
  about:
    'When a host with a failing switch or instance runtime becomes degraded, when that ends, and when its services move, in milliseconds.',
  schema: Type.Object(
    {
      /** A failure that is reported for this long makes the host degraded. */
      degradedAfterMs: Type.Integer({ minimum: 0, maximum: 3_600_000 }),
      /** A host that reports no failure for this long is no longer degraded; the time doubles with each recent degradation. */
      steadyMs: Type.Integer({ minimum: 1000, maximum: 600_000 }),
      /** The services of a degraded host move after this long, if it cannot serve or its peers say that its BFD is down. */
      moveAfterMs: Type.Integer({ minimum: 0, maximum: 86_400_000 }),
    },
    CLOSED,
  ),
  defaultValue: { degradedAfterMs: 10_000, steadyMs: 10_000, moveAfterMs: 30_000 },
});
type ConditionSettings = (typeof CONDITIONS)['defaultValue'];

/**
 * By type; one that a later version has recorded keeps nothing away. A switch that is not under control does no service and carries no new instance; without its runtime a host takes no instances. What
 * its agent itself lacks, such as room on its disk, keeps nothing away: whatever cannot be done there fails by itself.
 */
const EXCLUDES = new Map<string, readonly ('services' | 'instances')[]>([
  ['switch', ['services', 'instances']],
  ['instance-runtime', ['instances']],
]);

interface MayBeDegraded {
  readonly degraded?: Degraded | undefined;
}

/** Why a host may not be chosen for new work; undefined when none of its failures matters for it. */
export function findExclusion(
  { degraded }: MayBeDegraded,
  from: 'services' | 'instances',
): Degraded[number] | undefined {
  return degraded?.find(({ type }) => EXCLUDES.get(type)?.includes(from) === true);
}

/** Whether its switch cannot converge now: nothing waits for it. */
export function isOutOfControl({ degraded }: MayBeDegraded): boolean {
  return degraded?.some(({ type }) => type === 'switch') === true;
}

/** What the lease holder keeps in memory of the conditions of one host. */
export interface ConditionMemory {
  /** Start of the failure that has not been over for long enough yet. */
  readonly badSinceMs?: number | undefined;
  /** Start of the current time without failures. */
  readonly goodSinceMs?: number | undefined;
  /** How often it became degraded lately, or its cause changed. */
  readonly losses: number;
  readonly lastLossMs: number;
  /** Time of its last failure report. */
  readonly lastBadMs: number;
}

export const NEVER_BAD: ConditionMemory = { losses: 0, lastLossMs: 0, lastBadMs: 0 };

/** After this long without a failure, earlier ones no longer lengthen the delay. */
const LOSSES_FORGOTTEN_MS = 600_000;
const STEADY_DOUBLINGS_MAX = 5;

export interface ConditionVerdict {
  readonly memory: ConditionMemory;
  /** `pending`: the report differs from what is recorded, but not for long enough yet. */
  readonly verdict: 'same' | 'pending' | 'record';
}

/** A key of the failures, equal for equal failures; empty for none. */
interface ObservedCondition {
  readonly recorded: string;
  readonly reported: string;
  readonly memory: ConditionMemory;
}

type DampingSettings = Pick<ConditionSettings, 'degradedAfterMs' | 'steadyMs'>;

export function assessCondition(
  watched: ObservedCondition,
  nowMs: number,
  patience: DampingSettings,
): ConditionVerdict {
  return watched.reported === '' ? assessQuiet(watched, nowMs, patience) : assessTrouble(watched, nowMs, patience);
}

function assessTrouble(
  { recorded, reported, memory }: ObservedCondition,
  nowMs: number,
  patience: DampingSettings,
): ConditionVerdict {
  const badSinceMs = memory.badSinceMs ?? nowMs;
  // Computed before this report counts as the last one: once it has lasted, the long quiet before it would no longer be visible.
  const losses = lossesLately(memory, nowMs);
  const bad: ConditionMemory = { ...memory, losses, badSinceMs, goodSinceMs: undefined, lastBadMs: nowMs };
  if (recorded === reported) return { memory: bad, verdict: 'same' };
  const isDue =
    recorded === ''
      ? nowMs - badSinceMs >= patience.degradedAfterMs
      : nowMs - memory.lastLossMs >= steadinessMs(memory, nowMs, patience);
  if (!isDue) return { memory: bad, verdict: 'pending' };
  // Until the commit is there, each report requests it again: that is one loss all the same.
  const isCounted = recorded === '' && memory.lastLossMs >= badSinceMs;
  return { memory: isCounted ? bad : { ...bad, losses: losses + 1, lastLossMs: nowMs }, verdict: 'record' };
}

function assessQuiet(
  { recorded, memory }: ObservedCondition,
  nowMs: number,
  patience: DampingSettings,
): ConditionVerdict {
  const goodSinceMs = memory.goodSinceMs ?? nowMs;
  const isSteady = nowMs - goodSinceMs >= steadinessMs(memory, nowMs, patience);
  if (!isSteady) {
    const isQuiet = recorded === '' && memory.badSinceMs === undefined;
    return { memory: { ...memory, goodSinceMs }, verdict: isQuiet ? 'same' : 'pending' };
  }
  const over = { ...memory, badSinceMs: undefined, goodSinceMs };
  return { memory: over, verdict: recorded === '' ? 'same' : 'record' };
}

function lossesLately({ losses, lastBadMs }: ConditionMemory, nowMs: number): number {
  return nowMs - lastBadMs < LOSSES_FORGOTTEN_MS ? losses : 0;
}

function steadinessMs(memory: ConditionMemory, nowMs: number, { steadyMs }: DampingSettings): number {
  return steadyMs * 2 ** Math.min(Math.max(0, lossesLately(memory, nowMs) - 1), STEADY_DOUBLINGS_MAX);
}

/** Messages may differ from report to report; only the causes are compared. */
export function isSameTrouble(one: readonly Condition[], other: readonly Condition[]): boolean {
  return troubleKey(one) === troubleKey(other);
}

export function troubleKey(conditions: readonly Condition[]): string {
  return conditions
    .map(({ type, code, cannotServe = false }) => `${type} ${code} ${cannotServe}`)
    .sort()
    .join();
}
