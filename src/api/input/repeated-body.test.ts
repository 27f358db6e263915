// When the last body of a caller is reused, and when not.
import { expect, test } from 'vitest';
import { Type } from 'typebox';
import { answer, read, TOKEN, type Route } from '../../access/index.ts';
import { idOf } from '../../fleet/index.ts';
import type { CallerState } from '../authenticate.ts';
import type { AdmittedRequest } from '../request-admission.ts';
import { newBucket } from '../limits/rate-limit.ts';
import { newUsage } from '../limits/usage.ts';
import { hasPassed, rememberBody, repeatedBody } from './repeated-body.ts';

const routeAt = (path: string): Route =>
  read({
    method: 'POST',
    path,
    tag: 'test',
    about: 'Take the same body again',
    access: 'agent',
    body: Type.Object({ say: Type.String() }),
    bodyRepeats: true,
    answers: { 200: { about: 'taken' } },
    handle: () => answer({}),
  });

const BEAT = routeAt('/beat');
const OTHER = routeAt('/other');
const TEXT = '{"say":"alive"}';

const TOKEN_C1: CallerState['token'] = {
  id: idOf(TOKEN, 'tk-c1'),
  revision: 1,
  doc: { name: 'agent c1', role: 'agent', host: 'c1', hash: '0'.repeat(64), createdAtMs: 1, createdBy: 'test' },
};

const newcomer = (): CallerState => ({
  caller: { name: 'agent c1', role: 'agent' },
  token: TOKEN_C1,
  usage: newUsage(),
  bucket: newBucket(0),
});

function admitRequest(known: CallerState | undefined, route = BEAT): AdmittedRequest {
  return {
    route,
    startedMs: 0,
    caller: { name: 'agent c1', role: 'agent' },
    known,
    text: undefined,
    counted: undefined,
  };
}

/** A request whose body passes its route's check. */
function passes(known: CallerState, text: string): unknown {
  const admitted = admitRequest(known);
  const body = repeatedBody(admitted, text);
  rememberBody(admitted, body);
  return body;
}

test('the-same-text-is-the-same-value-which-has-passed', () => {
  const known = newcomer();
  const body = passes(known, TEXT);
  const again = repeatedBody(admitRequest(known), TEXT);
  expect(again).toBe(body);
  expect(again).toEqual({ say: 'alive' });
  expect(hasPassed(admitRequest(known), again)).toBe(true);
});

test('another-text-is-read-and-checked', () => {
  const known = newcomer();
  passes(known, TEXT);
  const other = repeatedBody(admitRequest(known), '{"say":"not well"}');
  expect(other).toEqual({ say: 'not well' });
  expect(hasPassed(admitRequest(known), other)).toBe(false);
});

test('what-did-not-pass-is-checked-each-time', () => {
  const known = newcomer();
  const wrong = repeatedBody(admitRequest(known), '{"say":1}');
  expect(hasPassed(admitRequest(known), wrong)).toBe(false);
  expect(hasPassed(admitRequest(known), repeatedBody(admitRequest(known), '{"say":1}'))).toBe(false);
});

test('what-passed-on-one-route-or-for-one-caller-is-checked-for-another', () => {
  const known = newcomer();
  const body = passes(known, TEXT);
  expect(repeatedBody(admitRequest(known, OTHER), TEXT)).not.toBe(body);
  expect(hasPassed(admitRequest(known, OTHER), body)).toBe(false);
  expect(hasPassed(admitRequest(newcomer()), body)).toBe(false);
  expect(hasPassed(admitRequest(undefined), undefined)).toBe(false);
});

test('what-is-long-is-not-kept', () => {
  const known = newcomer();
  const text = JSON.stringify({ say: 'x'.repeat(1000) });
  passes(known, text);
  expect(known.lastBody).toBeUndefined();
});
