// The request and the answer of the scheduler. It must know nothing of instances: every caller that needs a host uses these terms.
import type { NicRequirements, PoolKey } from '../network/index.ts';

export interface Amounts {
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly diskGiB: number;
  /** Further resource classes by name. */
  readonly resources?: Readonly<Record<string, number>>;
}

export const GROUP_POLICIES = ['affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity'] as const;
export type GroupPolicy = (typeof GROUP_POLICIES)[number];

export interface ScheduleRequest {
  readonly amounts: Amounts;
  readonly site?: string | undefined;
  readonly zone?: string | undefined;
  /** The host must be in all of them. */
  readonly aggregates?: readonly string[] | undefined;
  readonly requiredTraits?: readonly string[] | undefined;
  readonly forbiddenTraits?: readonly string[] | undefined;
  /** All claims of its members count: whoever moves an instance drops its claim in a trial first. */
  readonly group?: { readonly id: string; readonly policy: GroupPolicy } | undefined;
  readonly nics: readonly NicRequirements[];
  /** The minimum service version of the host's agent. */
  readonly serviceVersion?: number | undefined;
  /** The only acceptable host. */
  readonly onlyHost?: string | undefined;
  readonly excludedHosts?: readonly string[] | undefined;
  /** The reason by host, for the report. */
  readonly exclusionReasons?: ReadonlyMap<string, Exclusion> | undefined;
  readonly excludedPools?: readonly PoolKey[] | undefined;
  /** Earlier tries: a host that shares neither pools nor site with these is preferred, if there is one. */
  readonly tried?: readonly { readonly site: string; readonly pools: readonly PoolKey[] }[] | undefined;
  /** Without reasons: the report has no stages. A full one costs a scan of every host. */
  readonly brief?: true | undefined;
}

/** Why a request excludes a host by name. */
export interface Exclusion {
  /** Kebab-case: the host was tried before, the instance is there, or a copy of it is still there. */
  readonly because: 'tried-in-build' | 'tried-in-move' | 'to-be-left' | 'to-be-swept';
  /** The fault there, if it was tried. */
  readonly fault?: string;
}

/** `pools` has one entry per NIC, in their order. */
export interface HostChoice {
  readonly host: string;
  readonly pools: readonly PoolKey[];
}

export type ScheduleResult =
  ({ readonly kind: 'chosen' } & HostChoice) | { readonly kind: 'none'; readonly report: ScheduleReport };

/** Why no host fits: per stage, how many hosts came in and remained, and what excluded the others. */
export interface ScheduleReport {
  readonly hosts: number;
  readonly stages: readonly ReportStage[];
}

export interface ReportStage {
  readonly filter: string;
  readonly before: number;
  readonly after: number;
  /** Kebab-case: `segment-unreachable`, `addresses-exhausted`, `memory-short`; set where something was lost. */
  readonly cause?: string;
  readonly facts?: Readonly<Record<string, string | number>>;
}
