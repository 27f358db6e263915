// The HTTP surface of quotas: every reader of the fleet may read them, administrators set them.
import { Type } from 'typebox';
import {
  BY_ID,
  strictObject,
  deleteRoute,
  listRoute,
  noSuch,
  read,
  refusalAnswer,
  renderCommitted,
  findVisible,
  write,
  type Listing,
  type Resource,
  type Route,
} from '../../access/index.ts';
import type { FleetReader, Stored } from '../../fleet/index.ts';
import { deleteQuota, setQuota } from './decide.ts';
import { PROJECT } from '../model.ts';
import { QUOTA_LIMITS, usageOf, type Quota } from './quota.ts';
import { QUOTA_REPRESENTATION } from '../representations.ts';

const QUOTAS: Resource<'quota', Quota> = {
  path: '/api/v1/quotas',
  plural: 'quotas',
  singular: 'quota',
  representation: QUOTA_REPRESENTATION,
};

const LISTING: Listing<'quota', Quota> = {
  representation: QUOTA_REPRESENTATION,
  filters: {},
  sorts: { project: (doc) => doc.project, changedAtMs: (doc) => doc.changedAtMs },
  text: quotaToJsonText,
};

const USAGE_SCHEMA = Type.Object(
  { instances: Type.Integer(), vcpus: Type.Integer(), memoryMiB: Type.Integer(), ports: Type.Integer() },
  { description: 'the present usage of the project' },
);

/** A limit says little without its usage. */
function quotaToJsonText(stored: Stored<'quota', Quota>, fleet: FleetReader): string {
  return `${QUOTA_REPRESENTATION.toJsonText(stored).slice(0, -1)},"used":${JSON.stringify(usageOf(fleet, stored.doc.project))}}`;
}

const QUOTA_WITH_USAGE = Type.Object({ ...QUOTA_REPRESENTATION.schema.properties, used: USAGE_SCHEMA });

const list = listRoute(QUOTAS, {
  listing: LISTING,
  about: 'List quotas, with their usage',
  schema: QUOTA_WITH_USAGE,
  forProjects: true,
});

const get = read({
  method: 'GET',
  path: `${QUOTAS.path}/:id`,
  tag: 'quotas',
  about: 'Show a quota, with its usage',
  access: 'viewer',
  forProjects: true,
  params: BY_ID,
  answers: { 200: { about: 'the quota', schema: QUOTA_WITH_USAGE } },
  handle: ({ params, caller }, { journal: { fleet } }) => {
    const stored = findVisible(fleet, QUOTA_REPRESENTATION, { caller, id: params.id });
    if (stored === undefined) return refusalAnswer(noSuch('quota', params.id, caller));
    // Usage changes without the quota: the tag is good for If-Match, and a GET is never answered with 304.
    return {
      kind: 'answer',
      status: 200,
      text: quotaToJsonText(stored, fleet),
      headers: { etag: `"${stored.revision}"` },
    };
  },
});

const set = write({
  method: 'PUT',
  path: `${QUOTAS.path}/:id`,
  tag: 'quotas',
  about: 'Set the limits of a project; resources left out are not limited',
  access: 'admin',
  params: strictObject({ id: Type.Unsafe<string>({ ...PROJECT, description: 'the project' }) }),
  body: strictObject(QUOTA_LIMITS),
  answers: { 200: { about: 'the quota', schema: QUOTA_REPRESENTATION.schema } },
  handle: ({ params, body, caller }, { clock }) => {
    const command = { project: params.id, limits: body, by: caller.name, nowMs: clock.nowMs() };
    return {
      target: { representation: QUOTA_REPRESENTATION, id: params.id, optional: true },
      why: `set quota of ${params.id}`,
      decide: () => setQuota(command),
      answer: ({ after }) => renderCommitted(QUOTA_REPRESENTATION, after, params),
    };
  },
});

export const quotaRoutes: readonly Route[] = [
  list,
  get,
  set,
  deleteRoute(QUOTAS, {
    about: 'Delete a quota: the project is not limited any more',
    access: 'admin',
    decide: deleteQuota,
  }),
];
