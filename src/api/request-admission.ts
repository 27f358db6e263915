// Admission of a request, before any work is done for it: the server is not shutting down, the caller is authenticated, may call this
// route, and is within its rate limit. All in memory, a few microseconds.
import type { X509Certificate } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import {
  denyUnlessSufficient,
  ANONYMOUS,
  refuseToken,
  type Caller,
  type NamedByPath,
  type Route,
} from '../access/index.ts';
import type { Refusal } from '../fleet/index.ts';
import type { Clock, Journal } from '../journal/index.ts';
import type { CertificateSubject } from '../link/index.ts';
import { addressBlockOf } from './limits/address-block.ts';
import type { AuthenticationResult, Authenticator, CallerState } from './authenticate.ts';
import { FORWARDED } from './forward.ts';
import { PEER_PROOF, type PeerProofs } from './peer-proof.ts';
import type { Connections } from './limits/connections.ts';
import type { ServerLimits } from './limits/limits.ts';
import type { Metrics } from './metrics.ts';
import { peerCertificate } from './peer-certificate.ts';
import { HttpProblem, refusalProblem, unavailableProblem } from './problem.ts';
import { RateLimit } from './limits/rate-limit.ts';
import type { Usage } from './limits/usage.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the gate; undefined for what no route takes. */
    admitted: AdmittedRequest | undefined;
  }
}

export interface AdmittedRequest {
  readonly route: Route;
  readonly startedMs: number;
  caller: Caller;
  /** What is remembered of the caller; undefined without a token. */
  known: CallerState | undefined;
  /** The body as it came, on a route whose callers repeat themselves. */
  text: string | undefined;
  /** Where it counts as under way; undefined when it does not, or no more. */
  counted: Usage | undefined;
}

export function callerOf(request: FastifyRequest): Caller {
  return request.admitted?.caller ?? ANONYMOUS;
}

export type SignRefusal = (
  credential: { readonly host: string; readonly token: string },
  code: string,
) => object | undefined;

/** Whether the agent of a host, or a manager, may be served over a connection that shows this certificate. */
export type CheckPeer = (
  peer: {
    readonly subject: CertificateSubject;
    readonly shown: X509Certificate | undefined;
    readonly isRenewal: boolean;
  },
  nowMs: number,
) => Refusal | undefined;

export interface RequestAdmissionOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly authenticator: Authenticator;
  readonly limits: ServerLimits;
  readonly metrics: Metrics;
  readonly connections: Connections;
  readonly closing: AbortSignal;
  /** Called for a host whose revoked credential was presented; returns what else the refusal says. */
  readonly onRevokedCredential?: ((host: string, token: string) => Refusal | undefined) | undefined;
  /** What proves to an agent that its credential is refused by the control plane. */
  readonly signRefusal?: SignRefusal | undefined;
  /** Undefined where clients show no certificates. */
  readonly checkPeer?: CheckPeer | undefined;
  readonly peerProofs?: PeerProofs | undefined;
}

const CATCH_UP_MS = 2000;
/** Whoever reads the body of a route with a time of its own notices first, and answers in its own words. */
const BODY_GRACE_MS = 5000;

interface NextSteps {
  readonly finish: (error?: Error) => void;
  readonly again: () => void;
  readonly isPublic: boolean;
}

export class RequestAdmission {
  readonly #options: RequestAdmissionOptions;
  readonly #byToken: RateLimit;
  readonly #byAddress: RateLimit;

  constructor(options: RequestAdmissionOptions) {
    this.#options = options;
    this.#byToken = new RateLimit(options.limits.perTokenPerSecond);
    this.#byAddress = new RateLimit(options.limits.perAddressPerSecond);
  }

  /** A hook that lets a request through to its route, or fails with a problem. */
  hook(route: Route): (request: FastifyRequest, reply: unknown, done: (error?: Error) => void) => void {
    const pass = (request: FastifyRequest, done: (error?: Error) => void): void => {
      try {
        const admitted: AdmittedRequest = {
          route,
          startedMs: performance.now(),
          caller: ANONYMOUS,
          known: undefined,
          text: undefined,
          counted: undefined,
        };
        request.admitted = admitted;
        const known = this.#admit(route, request);
        setCaller(admitted, known);
        if (known !== undefined) this.#count(admitted, known.usage);
        if (route.bodyTimeMs !== undefined)
          this.#options.connections.allowBodyTime(request.raw.socket, route.bodyTimeMs + BODY_GRACE_MS);
      } catch (error) {
        done(error as Error);
        return;
      }
      done();
    };
    return (request, _, done) => {
      const wanted = isWriting(route) ? undefined : request.headers['muster-revision'];
      if (wanted === undefined) pass(request, done);
      else
        pass(
          request,
          (problem) =>
            void this.#waitAndAdmit(wanted, problem, {
              finish: done,
              again: () => pass(request, done),
              isPublic: route.access === 'public',
            }),
        );
    };
  }

  /** Only a known caller is waited for; and one whose token may be on its way here, who is counted by address. */
  async #waitAndAdmit(wanted: string | string[], problem: Error | undefined, next: NextSteps): Promise<void> {
    const onItsWay =
      problem instanceof HttpProblem && problem.code === 'token-unknown' && this.#options.journal.fence === undefined;
    if (problem !== undefined && !onItsWay) {
      next.finish(problem);
      return;
    }
    // Public answers say nothing of a revision: no request for them has to wait for one.
    const late = next.isPublic ? malformedRevision(wanted) : await this.#waitForRevision(wanted);
    if (problem === undefined) next.finish(late);
    else if (late === undefined) next.again();
    else next.finish(problem);
  }

  /** The caller that it lets through; undefined without a token. */
  #admit(route: Route, request: FastifyRequest): CallerState | undefined {
    const { clock, closing, authenticator, journal } = this.#options;
    if (closing.aborted) throw shuttingDownProblem();
    const nowMs = clock.nowMs();
    if (route.access === 'public') {
      if (route.isProbe !== true) this.limitAnonymous(request, nowMs);
      return undefined;
    }
    const found = authenticator.authenticate(request.headers, nowMs);
    if (found.kind !== 'caller') {
      this.limitAnonymous(request, nowMs);
      // The server that decides may know a token that has not come here yet. Nothing is done here for such a caller: should
      // this server decide by the time the body is there, `confirm` looks again.
      const isForwardedToHolder =
        isForwarded(route) && journal.fence === undefined && request.headers[FORWARDED] === undefined;
      if (found.kind === 'unknown' && isForwardedToHolder) return undefined;
      throw this.#denyUnauthenticated(found);
    }
    const { known } = found;
    this.#options.connections.attribute(request.raw.socket, known);
    this.#enforceRate(this.#byToken.takeFrom(known.bucket, nowMs), 'Your token sends');
    refuseUnlessPermitted(route, known.caller, request);
    return known;
  }

  /**
   * Called when the whole request is there and before anything is done for it on this server. The body may have come long
   * after the headers: this server may decide by now, and the token may have ended.
   */
  confirm(route: Route, request: FastifyRequest): void {
    if (route.access === 'public') return;
    const { authenticator, clock } = this.#options;
    const admitted = request.admitted as AdmittedRequest;
    const nowMs = clock.nowMs();
    if (admitted.known === undefined || !authenticator.isStillValid(admitted.known, nowMs)) {
      const found = authenticator.authenticate(request.headers, nowMs);
      if (found.kind !== 'caller') throw this.#denyUnauthenticated(found);
      refuseUnlessPermitted(route, found.known.caller, request);
      setCaller(admitted, found.known);
    }
    this.#checkPeer(admitted, request, nowMs);
  }

  /**
   * With every request, since a connection may outlive the certificate that opened it. Only where the request is answered: a server
   * that sends agents on to the lease holder may not have the newest authorities yet.
   */
  #checkPeer({ caller, route }: AdmittedRequest, request: FastifyRequest, nowMs: number): void {
    const { checkPeer } = this.#options;
    const subject = subjectOf(caller);
    if (checkPeer === undefined || subject === undefined) return;
    const shown = peerCertificate(request.raw.socket) ?? this.#shownToForwarder(request);
    const refusal = checkPeer({ subject, shown, isRenewal: route.renewsCertificate === true }, nowMs);
    if (refusal !== undefined) throw refusalProblem(refusal);
  }

  /** A server that forwards shows no certificate itself: it proves which one it was shown. */
  #shownToForwarder({ headers }: FastifyRequest): X509Certificate | undefined {
    const { peerProofs, journal } = this.#options;
    const proof = headers[PEER_PROOF];
    if (peerProofs === undefined || typeof proof !== 'string' || journal.fence === undefined) return undefined;
    return peerProofs.verify(proof, { authorization: headers.authorization, leaseEpoch: journal.fence.epoch });
  }

  #denyUnauthenticated(found: Exclude<AuthenticationResult, { kind: 'caller' }>): HttpProblem {
    const refusal = found.kind === 'revoked' ? this.#refusalOfRevoked(found) : undefined;
    return refusalProblem(refusal ?? refuseToken(found.kind));
  }

  /** A host's agent acts on the end of its credential, and must be able to distinguish it from a forged one. */
  #refusalOfRevoked({ host, token }: Extract<AuthenticationResult, { kind: 'revoked' }>): Refusal | undefined {
    if (host === undefined) return undefined;
    const removed = this.#options.onRevokedCredential?.(host, token);
    if (removed !== undefined) return removed;
    const refusal = refuseToken('revoked');
    const statement = this.#options.signRefusal?.({ host, token }, refusal.code);
    return statement === undefined ? refusal : { ...refusal, facts: { ...refusal.facts, statement } };
  }

  /** Counts a request among those of its token that are being answered; `Replies` takes it off again. */
  #count(admitted: AdmittedRequest, usage: Usage): void {
    if (usage.requests >= this.#options.limits.requestsPerToken) {
      this.#options.metrics.countRateLimited();
      throw new HttpProblem({
        status: 429,
        code: 'too-many-requests-at-once',
        detail: `Your token has ${usage.requests} requests under way, as many as one token may have. Wait for their answers, then try again.`,
        headers: { 'retry-after': '1' },
      });
    }
    usage.requests += 1;
    admitted.counted = usage;
  }

  /** Counts a request without a token against its address; with IPv6 against its /64. */
  limitAnonymous(request: FastifyRequest, nowMs: number): void {
    this.#enforceRate(
      this.#byAddress.take(addressBlockOf(request.ip), nowMs),
      'Without a valid token, your address sends',
    );
  }

  #enforceRate(waitMs: number, who: string): void {
    if (waitMs === 0) return;
    this.#options.metrics.countRateLimited();
    throw new HttpProblem({
      status: 429,
      code: 'too-many-requests',
      detail: `${who} requests faster than this server takes them from one caller. Send fewer a second, and try again in ${Math.ceil(waitMs / 1000)} s.`,
      facts: { retryAfterMs: waitMs },
      headers: { 'retry-after': String(Math.ceil(waitMs / 1000)) },
    });
  }

  /** A read may name the revision that it has to show; this server may be a moment behind. */
  async #waitForRevision(wanted: string | string[]): Promise<HttpProblem | undefined> {
    const malformed = malformedRevision(wanted);
    if (malformed !== undefined) return malformed;
    const { journal } = this.#options;
    if (await journal.waitForRevision(Number(wanted), CATCH_UP_MS)) return undefined;
    const detail = `This server has not reached revision ${Number(wanted)} yet: it is at ${journal.fleet.revision}. Try again in a moment.`;
    return unavailableProblem({ code: 'revision-not-reached', detail, facts: { revision: journal.fleet.revision } });
  }
}

function malformedRevision(wanted: string | string[]): HttpProblem | undefined {
  if (typeof wanted === 'string' && /^\d{1,15}$/.test(wanted)) return undefined;
  const detail = 'Muster-Revision must be a revision: a whole number, as in the header muster-revision of an answer.';
  return new HttpProblem({ status: 400, code: 'malformed-header', detail });
}

export function isForwarded(route: Route): boolean {
  return (route.onFollower ?? (isWriting(route) ? 'forward' : 'answer')) === 'forward';
}

function isWriting({ kind }: Route): boolean {
  return kind === 'write' || kind === 'bulk';
}

function setCaller(admitted: AdmittedRequest, known: CallerState | undefined): void {
  admitted.known = known;
  admitted.caller = known?.caller ?? ANONYMOUS;
}

/** Whom a certificate has to be for; undefined for callers that show none. */
function subjectOf({ role, host, manager }: Caller): CertificateSubject | undefined {
  if (role === 'agent' && host !== undefined) return { kind: 'host', name: host };
  return role === 'manager' && manager !== undefined ? { kind: 'manager', name: manager } : undefined;
}

export function readNamedByPath(request: FastifyRequest): NamedByPath {
  return request.params as NamedByPath;
}

function refuseUnlessPermitted(route: Route, caller: Caller, request: FastifyRequest): void {
  const denial = denyUnlessSufficient(caller, route, readNamedByPath(request));
  if (denial !== undefined) throw refusalProblem(denial);
}

export function shuttingDownProblem(): HttpProblem {
  const detail = 'This server is shutting down. Nothing was changed; try again in a moment.';
  return unavailableProblem({ code: 'shutting-down', detail, facts: { outcome: 'failed' } });
}
