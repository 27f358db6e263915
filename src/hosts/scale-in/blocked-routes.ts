// GET /api/v1/scale-in/blocked: the tenants of draining hosts that cannot move now, each with what is missing. It commits nothing.
import { Type } from 'typebox';
import { answer, strictObject, HOST_REF, ID, read, refusalAnswer, canSeeSite, type Route } from '../../access/index.ts';
import type { Refusal, Steps } from '../../fleet/index.ts';
import type { Explain } from '../../operations/index.ts';
import { unknownHost, type StoredHost } from '../decide.ts';
import type { PlannedEvacuation, Evacuator } from '../evacuator.ts';
import { findDrainingHosts, listRemainingTenants, siteToStayIn } from '../preview/drains-under-way.ts';
import { planInSlices } from '../preview/plan-slices.ts';
import { planBatchInSteps } from '../preview/batch-plan.ts';
import { BLOCKED, REVISIONS, renderBlocked } from '../preview/representation.ts';
import { isVisible } from './status-routes.ts';

const SHOWN_DEFAULT = 100;
const SHOWN_MAX = 1000;

const ANSWER = Type.Object({
  revisions: REVISIONS,
  count: Type.Integer({ description: 'how many of these hosts cannot move now, shown or not' }),
  blocked: BLOCKED,
});

interface BlockedRoute {
  readonly evacuators: readonly Evacuator[];
  readonly explain: Explain;
}

export function scaleInBlockedRoute({ evacuators, explain }: BlockedRoute): Route {
  return read({
    method: 'GET',
    path: '/api/v1/scale-in/blocked',
    tag: 'scale-in',
    about: 'Show the tenants that cannot leave draining hosts, each with what is missing',
    plansOnFleet: true,
    access: 'viewer',
    scope: 'site',
    onFollower: 'forward',
    query: strictObject({
      site: Type.Optional(ID),
      host: Type.Optional(Type.String({ ...HOST_REF, description: 'only tenants of this host, by any id of it' })),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: SHOWN_MAX, description: `at most ${SHOWN_MAX}, else ${SHOWN_DEFAULT}` }),
      ),
    }),
    answers: { 200: { about: 'tenants that cannot move now', schema: ANSWER } },
    // Planned in the decider, where drains decide, on current state, and not committed.
    handle: async ({ query: { site, host, limit = SHOWN_DEFAULT }, caller, authority }, world) => {
      const nowMs = world.clock.nowMs();
      const made = await planInSlices(world, authority, function* shownSteps(slices): Steps<object | Refusal> {
        const { fleet } = slices;
        if (host !== undefined && !isVisible(fleet, caller, host)) return unknownHost(host);
        const hosts = findDrainingHosts(fleet).filter(
          ({ id, doc }) => canSeeSite(caller, doc.site) && (site ?? doc.site) === doc.site && (host ?? id) === id,
        );
        const stayIn = ({ id }: StoredHost): string | undefined => siteToStayIn(fleet, id, caller.site);
        const about = { explained: limit, readIn: caller.site, tenantsOf: listRemainingTenants };
        const how = { hosts, siteToStayIn: stayIn, nowMs, ...about };
        const planned = yield* planBatchInSteps(slices, evacuators, how);
        const blocked = planned.flatMap(({ evacuating }) => evacuating.filter(isWaiting));
        const context = { explain, sight: world.redactorFor(caller, fleet) };
        const shown = blocked.slice(0, limit).map((one) => renderBlocked(one, context));
        return { count: blocked.length, blocked: shown };
      });
      if ('code' in made) return refusalAnswer(made);
      return 'code' in made.plan ? refusalAnswer(made.plan) : answer({ revisions: made.revisions, ...made.plan });
    },
  });
}

function isWaiting({ evacuation }: PlannedEvacuation): boolean {
  return evacuation.kind === 'wait';
}
