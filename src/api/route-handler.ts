// From a route to a Fastify handler: check the input, call the module, send the answer. Nothing here depends on a particular route.
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  guardWrite,
  NOT_PREPARED,
  type Answer,
  type HandlerResult,
  type Authority,
  type BodyLine,
  type Call,
  type Route,
  type StreamAnswer,
  type RouteContext,
  type Write,
  type WriteOutcome,
} from '../access/index.ts';
import { compileChecker, type Refusal } from '../fleet/index.ts';
import { NotHolder, type Outcome } from '../journal/index.ts';
import type { AuditTrail } from './audit/audit-trail.ts';
import type { ForwardRequest, Forwarder } from './forward.ts';
import { readBody } from './input/body-stream.ts';
import { readLines } from './input/body-lines.ts';
import type { BulkSlots } from './limits/bulk-slots.ts';
import type { Connections } from './limits/connections.ts';
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
  readonly bulkSlots: BulkSlots;
  readonly connections: Connections;
  readonly signHolder?: SignHolder | undefined;
}

/** How long the rest of a body is read and thrown away after the answer. */
const BODY_DISCARD_MS = 5000;

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
    case 'bulk':
      return bulkHandler(route, serving);
  }
}

/** What a server that does not decide does with a route that only the deciding one answers. */
function remoteHandlerOf(
  route: Route,
  { forwarder, replies, connections, signHolder }: HandlerDependencies,
): Handler | undefined {
  if (isForwarded(route)) {
    const forward = async (request: FastifyRequest, sent: Pick<ForwardRequest, 'body' | 'stream' | 'timeoutMs'>) => {
      const { method, url, headers, id: requestId } = request;
      return forwarder.forward({ method, url, headers, requestId, ...sent });
    };
    if (route.kind !== 'bulk')
      return async (request, reply) => replies.relay(reply, await forward(request, { body: request.body }));
    return async (request, reply) => {
      const stream = readBody(request.raw, route);
      const timeoutMs = route.bodyTimeMs + route.answerTimeMs;
      const answered = await forward(request, { stream, timeoutMs }).finally(() => {
        void stream.return();
        limitRest(request, connections);
      });
      return replies.relay(reply, answered);
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
    if (written.kind === 'written') {
      const settled = await write.settle?.(written.answer);
      if (settled !== undefined) return replies.sendAnswer(reply, settled, world.journal.fleet.revision);
      return replies.sendAnswer(reply, written.answer, outcome.revision);
    }
    const path = request.url.split('?', 1)[0] ?? '';
    return replies.sendAnswer(
      reply,
      markReplayed(await replay(written, { path, caller: call.caller, write })),
      outcome.revision,
    );
  };
}

/** A sender that is answered before it has sent everything is read on for a while, so that it finds the answer. */
function limitRest({ raw }: FastifyRequest, connections: Connections): void {
  if (!raw.complete) connections.allowBodyTime(raw.socket, BODY_DISCARD_MS);
}

function bulkHandler(route: RouteOf<'bulk'>, serving: HandlerDependencies): Handler {
  const { world, gate, bulkSlots, connections } = serving;
  const callOf = compileCall(route);
  const check = compileChecker(route.body);
  const answer = async (request: FastifyRequest): Promise<BulkAnswer> => {
    try {
      const call = callOf(request);
      demandNoIfMatch(request);
      const lines = await readLines(readBody(request.raw, route), { limits: route.lines, check });
      // The token may have ended while the body came.
      gate.confirm(route, request);
      return { answered: await route.handle({ ...call, body: lines }, world), lines };
    } catch (error) {
      // Its body was read: there is nothing to forward.
      throw error instanceof NotHolder ? noHolderProblem() : error;
    } finally {
      limitRest(request, connections);
    }
  };
  return async (request, reply) => {
    const { answered, lines } = await bulkSlots.hold(request, () => answer(request));
    return sendAnswered(reply, answered, { ...serving, said: () => lineNamedBy(answered, lines) });
  };
}

interface BulkAnswer {
  readonly answered: HandlerResult;
  readonly lines: readonly BodyLine[];
}

/** What the caller said in the line that a refusal is about: that is no secret to it. */
function lineNamedBy(answered: HandlerResult, lines: readonly BodyLine[]): unknown {
  const named = answered.kind === 'refuse' ? answered.refusal.facts?.['line'] : undefined;
  return lines.find(({ line }) => line === named)?.value;
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
  /** What of the body matters to a refusal, when that is not all of it. */
  readonly said?: (() => unknown) | undefined;
}

function submit(
  write: Write,
  { caller, authority }: Call,
  { request, world }: SubmitContext,
): ReturnType<typeof world.submit<WriteOutcome>> {
  const ifMatch = write.target === undefined ? demandNoIfMatch(request) : ifMatchIn(request.headers);
  const idempotency = idempotencyIn(request, world);
  const decide = guardWrite(write, { caller, ifMatch, idempotency, redactorFor: world.redactorFor });
  const { why, operation } = write;
  return world.submit(authority, {
    decide,
    ...(why !== undefined && { why }),
    ...(operation !== undefined && { operation }),
  });
}

function demandNoIfMatch({ headers }: FastifyRequest): undefined {
  if (ifMatchIn(headers) === undefined) return;
  const detail = 'If-Match means nothing here: this request does not change one resource. Leave it out.';
  throw new HttpProblem({ status: 400, code: 'if-match-not-supported', detail });
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
      lastEventId: typeof lastEventId === 'string' ? lastEventId : undefined,
    };
  };
}

/** A refusal as a caller with a limited view of the fleet may see it. */
function limitRefusal(refusal: Refusal, { request, world, said = () => request.body }: SubmitContext): Refusal {
  const sight = world.redactorFor(callerOf(request), world.journal.fleet);
  if (sight === undefined) return refusal;
  return sight.redactRefusal(
    refusal,
    `${JSON.stringify(request.params)} ${request.url} ${JSON.stringify(said() ?? '')}`,
  );
}

function sendAnswered(
  reply: FastifyReply,
  answered: HandlerResult,
  { replies, world, said }: HandlerDependencies & Pick<SubmitContext, 'said'>,
): FastifyReply {
  if (answered.kind === 'refuse') {
    const { request } = reply;
    return replies.sendProblem(reply, refusalProblem(limitRefusal(answered.refusal, { request, world, said })));
  }
  return replies.sendAnswer(reply, answered, world.journal.fleet.revision);
}
