// GET /api/v1/scale-in/blocked: what of the hosts that are being emptied cannot go now, each with what it lacks.
import { Type } from 'typebox';
import { answer, closed, ID, read, refused, seesSite, type Caller, type Route } from '../access/index.ts';
import type { FleetReader } from '../fleet/index.ts';
import { accept, type Decision } from '../journal/index.ts';
import { withinOf, type Explain } from '../operations/index.ts';
import type { StoredHost } from './decide.ts';
import type { Evacuating, Evacuator } from './evacuator.ts';
import { HOSTS_BY_STATE } from './model.ts';
import { planTogether } from './preview-plan.ts';
import { BLOCKED, shownBlocked } from './preview-view.ts';
import { DRAIN_KIND, openWork } from './scale-in-work.ts';

const SHOWN_DEFAULT = 100;
const SHOWN_MAX = 1000;

const ANSWER = Type.Object({
  count: Type.Integer({ description: 'how many cannot go now, shown or not' }),
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
    about: 'Show what cannot leave the hosts that are being emptied, and what each of it lacks',
    plansOnFleet: true,
    access: 'viewer',
    scope: 'site',
    elsewhere: 'forward',
    query: closed({
      site: Type.Optional(ID),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: SHOWN_MAX, description: `at most ${SHOWN_MAX}, else ${SHOWN_DEFAULT}` }),
      ),
    }),
    answers: { 200: { about: 'what cannot go now', schema: ANSWER } },
    // Decided where the drains decide, on what is true there, and not committed.
    handle: async ({ query: { site, limit = SHOWN_DEFAULT }, caller, authority }, { submit, clock, sightOf }) => {
      const nowMs = clock.nowMs();
      const decide = (fleet: FleetReader): Decision<object> => {
        const hosts = drainingHosts(fleet, caller, site);
        const within = ({ id }: StoredHost): string | undefined => siteToStayIn(fleet, id);
        const how = { hosts, within, nowMs, explained: limit, of: 'staying' } as const;
        const blocked = planTogether(fleet, evacuators, how).flatMap(({ evacuating }) => evacuating.filter(isWaiting));
        const telling = { explain, sight: sightOf(caller, fleet) };
        const shown = blocked.slice(0, limit).map((one) => shownBlocked(one, telling));
        return accept([], { count: blocked.length, blocked: shown });
      };
      const outcome = await submit(authority, { decide });
      return outcome.kind === 'refused' ? refused(outcome.refusal) : answer(outcome.answer);
    },
  });
}

function isWaiting({ evacuation }: Evacuating): boolean {
  return evacuation.kind === 'wait';
}

/** As its drain is held to it. */
function siteToStayIn(fleet: FleetReader, host: string): string | undefined {
  const [drain] = openWork(fleet, host, DRAIN_KIND);
  return drain === undefined ? undefined : withinOf(fleet, drain.doc);
}

/** In the order of names, as a preview has them. Hosts that somebody else empties wait for nothing here. */
function drainingHosts(fleet: FleetReader, caller: Caller, site: string | undefined): StoredHost[] {
  return [...fleet.find(HOSTS_BY_STATE, 'state:draining')].filter(
    ({ doc }) => doc.leaving?.drain === true && seesSite(caller, doc.site) && (site === undefined || site === doc.site),
  );
}
