// A server that checks tokens when a request arrives, and never again.
import { authorised } from '../checkers/authorised.ts';
import type { Mutant } from './mutant.ts';

export const authorisedBeforeCommit: Mutant = {
  name: 'authorised-before-commit',
  bug: 'whether a caller may do something is checked when its request arrives, not in the commit',
  caughtBy: [authorised.name],
  plant: (parts) => ({
    ...parts,
    submit: (journal) => (authority, request) => journal.submit({ ...request, by: authority.caller.name }),
  }),
};
