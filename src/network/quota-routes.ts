// The HTTP surface of quotas: everybody who sees the fleet reads them, administrators set them.
import { Type } from 'typebox';
import { closed, resourceAfter, write, type Listing, type Route } from '../access/index.ts';
import { deleteQuota, setQuota } from './decide-quota.ts';
import { PROJECT } from './model.ts';
import { QUOTA_LIMITS, type Quota } from './quota.ts';
import { deleteRoute, readRoutes } from './resource-routes.ts';
import { QUOTA_VIEW } from './views.ts';

const PATH = '/api/v1/quotas';
const NAMES = { path: PATH, what: 'quotas', one: 'quota' };

const LISTING: Listing<'quota', Quota> = {
  view: QUOTA_VIEW,
  filters: {},
  sorts: { project: (doc) => doc.project, changedAtMs: (doc) => doc.changedAtMs },
};

const set = write({
  method: 'PUT',
  path: `${PATH}/:id`,
  tag: 'quotas',
  about: 'Set what a project may have at most; what is left out is not limited',
  access: 'admin',
  params: closed({ id: Type.Unsafe<string>({ ...PROJECT, description: 'the project' }) }),
  body: closed(QUOTA_LIMITS),
  answers: { 200: { about: 'the quota', schema: QUOTA_VIEW.schema } },
  handle: ({ params, body, caller }, { clock }) => {
    const command = { project: params.id, limits: body, by: caller.name, nowMs: clock.nowMs() };
    return {
      target: { view: QUOTA_VIEW, id: params.id, optional: true },
      why: `set quota of ${params.id}`,
      decide: (fleet) => setQuota(fleet, command),
      answer: (_, after) => resourceAfter(QUOTA_VIEW, after, params),
    };
  },
});

export const quotaRoutes: readonly Route[] = [
  ...readRoutes({ ...NAMES, listing: LISTING }),
  set,
  deleteRoute({
    ...NAMES,
    about: 'Delete a quota: the project is not limited any more',
    access: 'admin',
    view: QUOTA_VIEW,
    decide: deleteQuota,
  }),
];
