// Quotas: the limits of a project, and its usage. Usage is counted as documents change, and must never be computed by listing them.
import { Type, type Static } from 'typebox';
import {
  schemaKind,
  type AppliedChange,
  type FleetReader,
  type Id,
  type ProjectionState,
  type Projection,
  type Refusal,
} from '../../fleet/index.ts';
import { PORT, PROJECT } from '../model.ts';
import { conflict } from '../refusal.ts';

const LIMIT = Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));

/** The limited resources; absent means unlimited. */
export const QUOTA_LIMITS = { instances: LIMIT, vcpus: LIMIT, memoryMiB: LIMIT, ports: LIMIT };

export const QUOTA_SCHEMA = Type.Object(
  { project: PROJECT, ...QUOTA_LIMITS, changedBy: Type.String(), changedAtMs: Type.Integer() },
  { additionalProperties: false },
);
export type Quota = Static<typeof QUOTA_SCHEMA>;
export type QuotaId = Id<'quota'>;
/** Its id is the project. */
export const QUOTA = schemaKind('quota', QUOTA_SCHEMA);

export type QuotaResource = keyof typeof QUOTA_LIMITS;
export type QuotaLimits = Pick<Quota, QuotaResource>;
export type QuotaUsage = Readonly<Record<QuotaResource, number>>;

const QUOTA_RESOURCES: readonly QuotaResource[] = ['instances', 'vcpus', 'memoryMiB', 'ports'];
const NO_USAGE: QuotaUsage = { instances: 0, vcpus: 0, memoryMiB: 0, ports: 0 };

/** The modules of instances and of bare metal lie above this one: only these fields of their documents are read. */
const INSTANCE_KIND = 'instance';
const RESERVATION_KIND = 'reservation';

interface CountedInstance {
  readonly project: string;
  readonly amounts: { readonly vcpus: number; readonly memoryMiB: number };
}

interface CountedReservation {
  readonly project?: string;
  readonly state: string;
  readonly request: { readonly build?: unknown; readonly vcpus?: number | null; readonly memory_mb?: number | null };
}

type CountedDocument = NonNullable<AppliedChange['after']>['doc'];

/** What a document takes of the quota of its project. */
interface Share extends Omit<QuotaLimits, 'ports'> {
  readonly project: string;
  readonly ports?: number;
}

function shareOf(kind: string, doc: CountedDocument | undefined): Share | undefined {
  if (doc === undefined) return undefined;
  if (kind === RESERVATION_KIND) return shareOfReservation(doc as unknown as CountedReservation);
  const { project, amounts } = doc as unknown as CountedInstance;
  return kind === PORT.name ? { project, ports: 1 } : { project, instances: 1, ...amounts };
}

/** A node that was reserved by hand counts as the instance that it is for; one of a build does not, since its instance counts. */
function shareOfReservation({ project, state, request }: CountedReservation): Share | undefined {
  if (project === undefined || state === 'error' || request.build !== undefined) return undefined;
  return { project, instances: 1, vcpus: request.vcpus ?? 0, memoryMiB: request.memory_mb ?? 0 };
}

/** The usage of each project, counted as ports, instances and reservations change. */
class QuotaUsageProjection implements ProjectionState {
  readonly #projects = new Map<string, Record<QuotaResource, number>>();

  apply({ kind, before, after }: AppliedChange): void {
    const [was, is] = [shareOf(kind, before?.doc), shareOf(kind, after?.doc)];
    // Ports change often, their project hardly ever.
    if (kind === PORT.name && was?.project === is?.project) return;
    if (was !== undefined) this.#add(was, -1);
    if (is !== undefined) this.#add(is, 1);
  }

  #add({ project, ...share }: Share, sign: 1 | -1): void {
    let usage = this.#projects.get(project);
    if (usage === undefined) this.#projects.set(project, (usage = { ...NO_USAGE }));
    for (const what of QUOTA_RESOURCES) usage[what] += sign * (share[what] ?? 0);
    if (usage.instances === 0 && usage.ports === 0) this.#projects.delete(project);
  }

  usageOf(project: string): QuotaUsage {
    return { ...(this.#projects.get(project) ?? NO_USAGE) };
  }
}

export const QUOTA_USAGE: Projection<QuotaUsageProjection> = {
  name: 'quota-usage',
  kinds: [PORT.name, INSTANCE_KIND, RESERVATION_KIND],
  create: () => new QuotaUsageProjection(),
};

export function usageOf(fleet: FleetReader, project: string): QuotaUsage {
  return fleet.projection(QUOTA_USAGE).usageOf(project);
}

/** Why a project may not use this much more; undefined when it may. */
export function quotaProblem(fleet: FleetReader, project: string, more: Partial<QuotaUsage>): Refusal | undefined {
  const quota = fleet.get(QUOTA, project as QuotaId)?.doc;
  if (quota === undefined) return undefined;
  const usage = usageOf(fleet, project);
  for (const what of QUOTA_RESOURCES) {
    const [limit, used, requested = 0] = [quota[what], usage[what], more[what]];
    // Usage above a lowered quota stays; only more of it is refused.
    if (limit === undefined || requested <= 0 || used + requested <= limit) continue;
    const message =
      `Project "${project}" may have ${limit} ${what} and has ${used}; this would make ${used + requested}. ` +
      `Delete some, or have an administrator raise the quota with "muster quotas set ${project}".`;
    return conflict('quota-exceeded', message, { facts: { project, what, limit, used, requested } });
  }
  return undefined;
}

export function portQuotaProblem(fleet: FleetReader, project: string, more: number): Refusal | undefined {
  return quotaProblem(fleet, project, { ports: more });
}
