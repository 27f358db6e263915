// The headers that make a write safe to repeat and safe against others: Idempotency-Key and If-Match.
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { WriteGuard, RouteContext } from '../../access/index.ts';
import { callerOf } from '../request-admission.ts';
import { composeEntityTag, parseEntityTag, shortenJournalId, type EntityTag } from './entity-tag.ts';
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

export function ifMatchIn(headers: IncomingHttpHeaders, journalId: string): number | undefined {
  const tag = entityTagIn(headers);
  if (tag?.journal !== undefined && tag.journal !== shortenJournalId(journalId)) throw ofOtherJournal();
  return tag?.revision;
}

/** All servers of a journal agree on it: it is checked here, since a holder of the version before knows revisions alone. */
export function dropJournalOfIfMatch(headers: IncomingHttpHeaders, journalId: string): IncomingHttpHeaders {
  const revision = ifMatchIn(headers, journalId);
  return revision === undefined ? headers : { ...headers, 'if-match': composeEntityTag({ revision }) };
}

function entityTagIn(headers: IncomingHttpHeaders): EntityTag | undefined {
  const text = headers['if-match'];
  if (text === undefined || text === '*') return undefined;
  const tag = parseEntityTag(text);
  if (tag === undefined) throw badHeader('If-Match must be the ETag of an answer, such as "42" in double quotes.');
  return tag;
}

function ofOtherJournal(): HttpProblem {
  const detail =
    'If-Match names a revision of another journal: this one was restored from a backup. Read the resource again and decide anew.';
  return new HttpProblem({ status: 412, code: 'revision-mismatch', detail });
}

/** Of a request that changes no single resource. */
export function demandNoIfMatch({ headers }: FastifyRequest): undefined {
  if (entityTagIn(headers) === undefined) return;
  const detail = 'If-Match means nothing here: this request does not change one resource. Leave it out.';
  throw new HttpProblem({ status: 400, code: 'if-match-not-supported', detail });
}

function badHeader(detail: string): HttpProblem {
  return new HttpProblem({ status: 400, code: 'malformed-header', detail });
}
