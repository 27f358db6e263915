// GET /api/v1/scale-in/blocked: the tenants of draining hosts that cannot move now, each with what is missing. It commits nothing.
import { Type } from 'typebox';
import {
  answer,
  strictObject,
  ID,
  read,
  refusalAnswer,
  canSeeSite,
  type Caller,
  type Route,
} from '../../access/index.ts';
import type { FleetReader } from '../../fleet/index.ts';
import { siteLimitOf, type Explain } from '../../operations/index.ts';
import type { StoredHost } from '../decide.ts';
import type { PlannedEvacuation, Evacuator } from '../evacuator.ts';
import { HOSTS_BY_STATE } from '../model.ts';
import { planInSlices, type Steps } from '../preview/plan-slices.ts';
import { planBatchInSteps, type BatchPlanRequest } from '../preview/batch-plan.ts';
import { BLOCKED, REVISIONS, renderBlocked } from '../preview/representation.ts';
import { DRAIN_KIND, openWork } from './host-items.ts';

const SHOWN_DEFAULT = 100;
const SHOWN_MAX = 1000;

const ANSWER = Type.Object({
  revisions: REVISIONS,
  count: Type.Integer({ description: 'how many cannot move now, shown or not' }),
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
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: SHOWN_MAX, description: `at most ${SHOWN_MAX}, else ${SHOWN_DEFAULT}` }),
      ),
    }),
    answers: { 200: { about: 'tenants that cannot move now', schema: ANSWER } },
    // Planned in the decider, where drains decide, on current state, and not committed.
    handle: async ({ query: { site, limit = SHOWN_DEFAULT }, caller, authority }, world) => {
      const nowMs = world.clock.nowMs();
      const made = await planInSlices(world, authority, function* shownSteps(slices): Steps<object> {
        const { fleet } = slices;
        const hosts = drainingHosts(fleet, caller, site);
        const stayIn = ({ id }: StoredHost): string | undefined => siteToStayIn(fleet, id);
        const how = { hosts, siteToStayIn: stayIn, nowMs, explained: limit, tenantsOf: listRemainingTenants };
        const planned = yield* planBatchInSteps(slices, evacuators, how);
        const blocked = planned.flatMap(({ evacuating }) => evacuating.filter(isWaiting));
        const telling = { explain, sight: world.redactorFor(caller, fleet) };
        const shown = blocked.slice(0, limit).map((one) => renderBlocked(one, telling));
        return { count: blocked.length, blocked: shown };
      });
      return 'code' in made ? refusalAnswer(made) : answer({ revisions: made.revisions, ...made.plan });
    },
  });
}

const listRemainingTenants: NonNullable<BatchPlanRequest['tenantsOf']> = (evacuator, fleet, host) =>
  (evacuator.remainingTenants ?? evacuator.inventory)(fleet, host);

function isWaiting({ evacuation }: PlannedEvacuation): boolean {
  return evacuation.kind === 'wait';
}

/** The site limit of its drain. */
function siteToStayIn(fleet: FleetReader, host: string): string | undefined {
  const [drain] = openWork(fleet, host, DRAIN_KIND);
  return drain === undefined ? undefined : siteLimitOf(fleet, drain.doc);
}

/** Sorted by name, as a preview is. Hosts that the operator empties by other means have nothing blocked here. */
function drainingHosts(fleet: FleetReader, caller: Caller, site: string | undefined): StoredHost[] {
  return [...fleet.find(HOSTS_BY_STATE, 'state:draining')].filter(
    ({ doc }) =>
      doc.leaving?.drain === true && canSeeSite(caller, doc.site) && (site === undefined || site === doc.site),
  );
}
