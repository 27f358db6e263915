// Nothing is committed for a caller whose token is not valid for it at that very revision.
import { isExpired, permits, TOKEN } from '../../src/access/index.ts';
import { idOf } from '../../src/fleet/index.ts';
import type { Checker } from './checker.ts';

const FORM = /^caller:([^:]*):/;

/** The `by` of commits for a caller: it names the token. */
export function callerTag(token: string | undefined, name: string): string {
  return `caller:${token ?? ''}:${name}`;
}

export const authorised: Checker = {
  name: 'never: a commit for a caller whose token is not valid and sufficient at its revision',
  watch: (violated) => ({
    onApplied: ({ truth, entry: { commit } }) => {
      const token = FORM.exec(commit.by)?.[1];
      if (token === undefined) return;
      const doc = token === '' ? undefined : truth.get(TOKEN, idOf(TOKEN, token))?.doc;
      const problem =
        doc === undefined
          ? 'has no token'
          : doc.revoked !== undefined
            ? 'has a revoked token'
            : isExpired(doc, commit.atMs)
              ? 'has an expired token'
              : permits({ name: commit.by, role: doc.role }, 'operator')
                ? undefined
                : `is a ${doc.role}`;
      if (problem !== undefined) violated(`revision ${commit.revision} is for ${commit.by}, which ${problem}`);
    },
  }),
};
