// From a route to a Fastify handler: check the input, call the module, send the answer. Nothing here depends on a particular route.
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  guardWrite,
  NOT_PREPARED,
  type Answer,
  type HandlerResult,
  type Authority,
  type Call,
  type Route,
  type StreamAnswer,
  type RouteContext,
  type Write,
  type WriteOutcome,
} from '../access/index.ts';
import type { Refusal } from '../fleet/index.ts';
import { NotHolder, type Outcome } from '../journal/index.ts';
import type { AuditTrail } from './audit/audit-trail.ts';
import type { Forwarder } from './forward.ts';
import {
  callerOf,
  isForwarded,
  readNamedByPath,
  type AdmittedRequest,
  type RequestAdmission,
} from './request-admission.ts';
import { idempotencyIn, ifMatchIn } from './input/write-headers.ts';
import { compileInputCheck } from './input/input.ts';
import type { AnswerReplay } from './answer-replay.ts';
import { hasPassed, rememberBody } from './input/repeated-body.ts';
import { HttpProblem, noHolderProblem, refusalProblem } from './problem.ts';
import { refuseUnacceptable } from './restconf/media-types.ts';
import { releaseSlot, type ReplyWriter } from './reply-writer.ts';
import { sendPieces, type PiecedAnswer } from './send-pieces.ts';
import type { Streams } from './streams.ts';
import type { FairScheduler } from './limits/fair-scheduler.ts';

/** What proves to an agent that it is sent on to the lease holder by the control plane. */
export type SignHolder = (lease: { readonly url: string; readonly epoch: number }) => object | undefined;

export interface HandlerDependencies {
  readonly world: RouteContext;
  readonly gate: RequestAdmission;
  readonly forwarder: Forwarder;
  readonly streams: Streams;
  readonly replies: ReplyWriter;
  readonly replay: AnswerReplay;
  readonly trail: AuditTrail;
  readonly workload: FairScheduler;
  readonly signHolder?: SignHolder | undefined;
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;
type RouteOf<K extends Route['kind']> = Extract<Route, { kind: K }>;

export function handlerOf(route: Route, serving: HandlerDependencies): Handler {
  const { world, gate, trail } = serving;
  const away = remoteHandlerOf(route, serving);
  const handleHere = localHandlerOf(route, serving);
  const handler: Handler = (request, reply) => {
    gate.confirm(route, request);
    if (route.asksForNames === true) trail.demandNameBudget(request);
    return handleHere(request, reply);
  };
  if (away === undefined) return handler;
  return (request, reply) => {
    if (world.journal.fence === undefined) return away(request, reply);
    // The lease went while the request waited: nothing was written, so another server may decide it.
    const redirect = (error: unknown): unknown => {
      if (error instanceof NotHolder) return away(request, reply);
      throw error;
    };
    try {
      const answered = handler(request, reply);
      // What is answered at once is not made to wait for a promise: heartbeats come a thousand times a second.
      return answered instanceof Promise ? answered.catch(redirect) : answered;
    } catch (error) {
      return redirect(error);
    }
  };
}

function localHandlerOf(route: Route, serving: HandlerDependencies): Handler {
  switch (route.kind) {
    case 'read':
      return readHandler(route, serving);
    case 'write':
      return writeHandler(route, serving);
    case 'stream':
      return streamHandler(route, serving);
  }
}

/** What a server that does not decide does with a route that only the deciding one answers. */
function remoteHandlerOf(route: Route, { forwarder, replies, signHolder }: HandlerDependencies): Handler | undefined {
  if (isForwarded(route)) {
    return async (request, reply) => {
      const { method, url, headers, body, id: requestId } = request;
      return replies.relay(reply, await forwarder.forward({ method, url, headers, body, requestId }));
    };
  }
  if (route.onFollower !== 'misdirect') return undefined;
  return async () => {
    const lease = await forwarder.holder();
    if (lease === undefined) throw noHolderProblem();
    const detail = `This server does not decide now. Ask ${lease.url} instead.`;
    const statement = signHolder?.(lease);
    const facts = { holder: lease.url, leaseEpoch: lease.epoch, ...(statement !== undefined && { statement }) };
    throw new HttpProblem({ status: 421, code: 'not-holder', detail, facts });
  };
}

function readHandler(route: RouteOf<'read'>, serving: HandlerDependencies): Handler {
  const callOf = compileCall(route);
  const { scansFleet, plansOnFleet } = route;
  const handleInSlice = async (call: Call): Promise<HandlerResult> =>
    serving.workload.slice(call.caller, () => route.handle(call, serving.world));
  const handlePlanned = (call: Call): Promise<HandlerResult> =>
    serving.workload.plan(call.caller, async () => route.handle(call, serving.world));
  const handle = (call: Call): HandlerResult | Promise<HandlerResult> => {
    if (plansOnFleet === true) return handlePlanned(call);
    return scansFleet?.(call) === true ? handleInSlice(call) : route.handle(call, serving.world);
  };
  const send = (reply: FastifyReply, answered: HandlerResult): unknown =>
    answered.kind === 'answer' && answered.pieces !== undefined
      ? sendPieces(
          reply,
          { answer: answered as PiecedAnswer, route, revision: serving.world.journal.fleet.revision },
          serving,
        )
      : sendAnswered(reply, answered, serving);
  return (request, reply) => {
    const answered = handle(callOf(request));
    if (answered instanceof Promise) {
      return answered.then((later) => {
        // It may have waited for its turn: nothing is shown to a token that ended meanwhile. Agents get the reason from the agent gateway.
        if (route.access !== 'agent') serving.gate.confirm(route, request);
        return send(reply, later);
      });
    }
    return send(reply, answered);
  };
}

function streamHandler(route: RouteOf<'stream'>, serving: HandlerDependencies): Handler {
  const callOf = compileCall(route);
  const { world, streams, replies } = serving;
  return async (request, reply) => {
    const answered = await streams.withSlot(request, async (): Promise<StreamAnswer | HandlerResult> => {
      const started = await route.handle(callOf(request), world);
      if (started.kind === 'stream') await streams.run(started, request, reply);
      return started;
    });
    if (answered.kind !== 'stream') return sendAnswered(reply, answered, serving);
    replies.recordRequest(request, 200);
    releaseSlot(request, reply.raw);
    return reply;
  };
}

function writeHandler(route: RouteOf<'write'>, { world, replies, replay, workload }: HandlerDependencies): Handler {
  const callOf = compileCall(route);
  return async (request, reply) => {
    const call = callOf(request);
    let write = route.handle(call, world);
    if ('kind' in write) throw refusalProblem(write.refusal);
    const asking = { request, world };
    let outcome = await submit(write, call, asking);
    while (isUnprepared(outcome) && write.prepare !== undefined) {
      const prepared: Write | Refusal = await workload.plan(call.caller, write.prepare);
      if ('code' in prepared) return replies.sendProblem(reply, refusalProblem(limitRefusal(prepared, asking)));
      write = prepared;
      outcome = await submit(write, call, asking);
    }
    if (outcome.kind === 'refused')
      return replies.sendProblem(reply, refusalProblem(limitRefusal(outcome.refusal, asking)));
    const written = outcome.answer;
    if (written.kind === 'written') return replies.sendAnswer(reply, written.answer, outcome.revision);
    const path = request.url.split('?', 1)[0] ?? '';
    return replies.sendAnswer(
      reply,
      markReplayed(await replay(written, { path, caller: call.caller, write })),
      outcome.revision,
    );
  };
}

function isUnprepared(outcome: Outcome<WriteOutcome>): boolean {
  return outcome.kind === 'refused' && outcome.refusal.code === NOT_PREPARED;
}

/** Headers are part of the answer, not set on the reply: an answer without a body bypasses the reply's headers. */
function markReplayed(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, 'idempotency-replayed': 'true' } };
}

interface SubmitContext {
  readonly request: FastifyRequest;
  readonly world: RouteContext;
}

function submit(
  write: Write,
  { caller, authority }: Call,
  { request, world }: SubmitContext,
): ReturnType<typeof world.submit<WriteOutcome>> {
  const ifMatch = ifMatchIn(request.headers);
  if (ifMatch !== undefined && write.target === undefined) {
    const detail = 'If-Match means nothing here: this request does not change one resource. Leave it out.';
    throw new HttpProblem({ status: 400, code: 'if-match-not-supported', detail });
  }
  const idempotency = idempotencyIn(request, world);
  const decide = guardWrite(write, { caller, ifMatch, idempotency, redactorFor: world.redactorFor });
  const { why, operation } = write;
  return world.submit(authority, {
    decide,
    ...(why !== undefined && { why }),
    ...(operation !== undefined && { operation }),
  });
}

function compileCall(route: Route): (request: FastifyRequest) => Call {
  const check = compileInputCheck(route);
  const isRestconf = route.dialect === 'restconf';
  const isStream = route.kind === 'stream';
  const authorityOf = (request: FastifyRequest): Authority => {
    const { caller, known } = request.admitted as AdmittedRequest;
    // A fault of this server's, not of the caller's: `confirm` has refused it.
    if (known === undefined && route.access !== 'public')
      throw new Error(`no caller was authenticated for ${route.path}`);
    return { caller, token: known?.token, demand: route, named: readNamedByPath(request) };
  };
  return (request) => {
    if (isRestconf) refuseUnacceptable(request.headers.accept);
    const repeating = route.bodyRepeats === true ? request.admitted : undefined;
    const hadPassed = repeating !== undefined && hasPassed(repeating, request.body);
    const { params, query, body } = check(request, hadPassed);
    if (repeating !== undefined && !hadPassed) rememberBody(repeating, body);
    const lastEventId = isStream ? request.headers['last-event-id'] : undefined;
    return {
      params,
      query,
      body,
      caller: callerOf(request),
      authority: authorityOf(request),
      requestId: request.id,
      headersOnly: request.method === 'HEAD',
      accept: request.headers.accept,
      lastEventId: typeof lastEventId === 'string' ? lastEventId : undefined,
    };
  };
}

/** A refusal as a caller with a limited view of the fleet may see it. */
function limitRefusal(refusal: Refusal, { request, world }: SubmitContext): Refusal {
  const sight = world.redactorFor(callerOf(request), world.journal.fleet);
  if (sight === undefined) return refusal;
  return sight.redactRefusal(
    refusal,
    `${JSON.stringify(request.params)} ${request.url} ${JSON.stringify(request.body ?? '')}`,
  );
}

function sendAnswered(
  reply: FastifyReply,
  answered: HandlerResult,
  { replies, world }: HandlerDependencies,
): FastifyReply {
  if (answered.kind === 'refuse') {
    const { request } = reply;
    return replies.sendProblem(reply, refusalProblem(limitRefusal(answered.refusal, { request, world })));
  }
  return replies.sendAnswer(reply, answered, world.journal.fleet.revision);
}
