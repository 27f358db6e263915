// The one way from a caller to a decision: whether it may is part of what is decided.
import { mark } from '../fleet/index.ts';
import type { Journal, Request } from '../journal/index.ts';
import { denyUnlessAuthorized } from './authority.ts';
import type { RouteContext } from './route.ts';

export function createAuthorizedSubmit(journal: Journal): RouteContext['submit'] {
  return (authority, request) =>
    journal.submit({
      ...request,
      decide: authority.readsOnly === true ? refuseChanges(request.decide) : request.decide,
      by: authority.caller.name,
      authorize: (fleet, nowMs) => {
        const denial = denyUnlessAuthorized(fleet, authority, nowMs);
        if (denial !== undefined) mark('caller-denied-in-commit');
        return denial;
      },
    });
}

/** A fault of this server's: such a route is outside of all that holds for writes, from its forwarding to the tests of all of them. */
function refuseChanges<A>(decide: Request<A>['decide']): Request<A>['decide'] {
  return (fleet) => {
    const decision = decide(fleet);
    if (decision.kind === 'accept' && decision.changes.length > 0)
      throw new Error('a read has changes to commit: declare its route as a write, or with submitsCommits');
    return decision;
  };
}
