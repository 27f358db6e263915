// What a caller has decided: authorised in the commit, and without changes where its route is a read.
import { expect, test } from 'vitest';
import { Fleet, idOf, put, Registry } from '../fleet/index.ts';
import { accept, type Journal, type Request } from '../journal/index.ts';
import type { Authority } from './authority.ts';
import { accessModel, TOKEN } from './model.ts';
import { createAuthorizedSubmit } from './submit.ts';

const CALLER: Authority = { caller: { name: 'x', role: 'nobody' }, token: undefined, demand: { access: 'public' } };
const TOKEN_DOC = { name: 'x', role: 'viewer', hash: '0'.repeat(64), createdAtMs: 1, createdBy: 'test' } as const;
const CHANGE = put(TOKEN, idOf(TOKEN, 'tk-1'), TOKEN_DOC);

function decideAs(authority: Authority, request: Pick<Request<null>, 'decide'>): unknown {
  const fleet = new Fleet(new Registry([accessModel]));
  let decided: unknown;
  const journal = {
    submit: ({ decide }: Request<null>) => Promise.resolve((decided = decide(fleet))),
  } as unknown as Journal;
  void createAuthorizedSubmit(journal)(authority, request);
  return decided;
}

test('never: a route that is declared as a read commits a change', () => {
  const changing = { decide: () => accept([CHANGE], null) };
  expect(() => decideAs({ ...CALLER, readsOnly: true }, changing)).toThrow('declare its route as a write');
  expect(decideAs(CALLER, changing)).toEqual(accept([CHANGE], null));
  // A preview is decided where a real request would be, and commits nothing.
  const previewing = { decide: () => accept([], null) };
  expect(decideAs({ ...CALLER, readsOnly: true }, previewing)).toEqual(accept([], null));
});
