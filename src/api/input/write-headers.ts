// The headers that make a write safe to repeat and safe against others: Idempotency-Key and If-Match.
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { WriteGuard, RouteContext } from '../../access/index.ts';
import { callerOf } from '../request-admission.ts';
import { canonicalJson } from './json-body.ts';
import { HttpProblem } from '../problem.ts';

const KEY_FORM = /^[\x21-\x7e]{1,200}$/;

/** Callers can only collide with themselves: their token is part of what is hashed. */
const KEY_BYTES = 9;
/** Distinguishes a repetition from a different request with the same key. */
const REQUEST_BYTES = 9;

function shorten(hex: string, bytes: number): string {
  return Buffer.from(hex.slice(0, 2 * bytes), 'hex').toString('base64url');
}

/** The same caller, key and request find the same answer again. The key itself is not kept. */
export function idempotencyIn(request: FastifyRequest, { hash, clock }: RouteContext): WriteGuard['idempotency'] {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !KEY_FORM.test(key)) {
    throw badHeader('Idempotency-Key must be 1 to 200 visible characters without spaces.');
  }
  const former = {
    id: hash(`${callerOf(request).token ?? ''}\n${key}`),
    request: hash(`${request.method} ${request.url}\n${canonicalJson(request.body)}`),
  };
  return {
    id: shorten(former.id, KEY_BYTES).replace(/^[-_]/, 'k'), // ids begin with a letter or a digit
    requestDigest: shorten(former.request, REQUEST_BYTES),
    former,
    path: request.url.split('?', 1)[0] ?? '',
    nowMs: clock.nowMs(),
  };
}

export function ifMatchIn(headers: IncomingHttpHeaders): number | undefined {
  const text = headers['if-match'];
  if (text === undefined || text === '*') return undefined;
  const revision = /^"(\d{1,15})"$/.exec(text)?.[1];
  if (revision === undefined) throw badHeader('If-Match must be the ETag of an answer, such as "42" in double quotes.');
  return Number(revision);
}

/** Of a request that changes no single resource. */
export function demandNoIfMatch({ headers }: FastifyRequest): undefined {
  if (ifMatchIn(headers) === undefined) return;
  const detail = 'If-Match means nothing here: this request does not change one resource. Leave it out.';
  throw new HttpProblem({ status: 400, code: 'if-match-not-supported', detail });
}

function badHeader(detail: string): HttpProblem {
  return new HttpProblem({ status: 400, code: 'malformed-header', detail });
}
