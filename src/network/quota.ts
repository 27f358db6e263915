// Quotas: what a project may have at most, and what it has. Usage is counted as documents change, never by listing them.
import { Type, type Static } from 'typebox';
import {
  schemaKind,
  type Applied,
  type FleetReader,
  type Id,
  type Projected,
  type Projection,
  type Refusal,
} from '../fleet/index.ts';
import { PORT, PROJECT, type Port } from './model.ts';
import { conflict } from './refusal.ts';

const LIMIT = Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));

/** What is limited; what is absent is not. */
export const QUOTA_LIMITS = { instances: LIMIT, vcpus: LIMIT, memoryMiB: LIMIT, ports: LIMIT };

export const QUOTA_SCHEMA = Type.Object(
  { project: PROJECT, ...QUOTA_LIMITS, changedBy: Type.String(), changedAtMs: Type.Integer() },
  { additionalProperties: false },
);
export type Quota = Static<typeof QUOTA_SCHEMA>;
export type QuotaId = Id<'quota'>;
/** Its id is the project. */
export const QUOTA = schemaKind('quota', QUOTA_SCHEMA);

/** How many ports each project has. */
class PortCounts implements Projected {
  readonly #projects = new Map<string, number>();

  apply({ before, after }: Applied): void {
    const [was, is] = [(before?.doc as Port | undefined)?.project, (after?.doc as Port | undefined)?.project];
    if (was === is) return;
    if (was !== undefined) this.#add(was, -1);
    if (is !== undefined) this.#add(is, 1);
  }

  #add(project: string, by: number): void {
    const count = this.of(project) + by;
    if (count === 0) this.#projects.delete(project);
    else this.#projects.set(project, count);
  }

  of(project: string): number {
    return this.#projects.get(project) ?? 0;
  }
}

export const PORT_COUNTS: Projection<PortCounts> = {
  name: 'port-counts',
  kinds: [PORT.name],
  create: () => new PortCounts(),
};

/** What a project may have at most; undefined when nothing was said of it. */
export function quotaOf(fleet: FleetReader, project: string): Quota | undefined {
  return fleet.get(QUOTA, project as QuotaId)?.doc;
}

/** Why a project may not have so many more ports; undefined when it may. */
export function portQuotaRefusal(fleet: FleetReader, project: string, more: number): Refusal | undefined {
  const limit = quotaOf(fleet, project)?.ports;
  const used = fleet.projection(PORT_COUNTS).of(project);
  if (limit === undefined || more <= 0 || used + more <= limit) return undefined;
  const message =
    `Project "${project}" may have ${limit} ports and has ${used}; this would make ${used + more}. ` +
    `Delete some, or raise the quota with "muster quotas set ${project}".`;
  return conflict('quota-exceeded', message, { facts: { project, what: 'ports', limit, used, asked: more } });
}
