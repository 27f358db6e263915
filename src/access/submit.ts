// The one way from a caller to a decision: whether it may is part of what is decided.
import { mark } from '../fleet/index.ts';
import type { Journal } from '../journal/index.ts';
import { denyUnlessAuthorized } from './authority.ts';
import type { RouteContext } from './route.ts';

export function createAuthorizedSubmit(journal: Journal): RouteContext['submit'] {
  return (authority, request) =>
    journal.submit({
      ...request,
      by: authority.caller.name,
      authorize: (fleet, nowMs) => {
        const denial = denyUnlessAuthorized(fleet, authority, nowMs);
        if (denial !== undefined) mark('caller-denied-in-commit');
        return denial;
      },
    });
}
