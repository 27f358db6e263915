// From a route to a Fastify handler: check the input, call the module, send the answer. Nothing here depends on a particular route.
import type { FastifyReply } from 'fastify';
import {
  guardWrite,
  NOT_PREPARED,
  type Answer,
  type Call,
  type HandlerResult,
  type Route,
  type StreamAnswer,
  type Write,
  type WriteOutcome,
} from '../access/index.ts';
import type { Refusal } from '../fleet/index.ts';
import { NotHolder, type Outcome } from '../journal/index.ts';
import { bulkForwarder, bulkHandler } from './bulk-handler.ts';
import { compileCall } from './compile-call.ts';
import type { FairScheduler } from './limits/fair-scheduler.ts';
import type { Handler, HandlerDependencies, RouteOf } from './handler.ts';
import { demandNoIfMatch, dropJournalOfIfMatch, idempotencyIn, ifMatchIn } from './input/write-headers.ts';
import { peerCertificate } from './peer-certificate.ts';
import { HttpProblem, noHolderProblem, refusalProblem } from './problem.ts';
import { releaseSlot } from './reply-writer.ts';
import { isForwarded } from './request-admission.ts';
import { limitRefusal, sendAnswered, type SubmitContext } from './send-answered.ts';
import { sendPieces, type PiecedAnswer } from './send-pieces.ts';

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
function remoteHandlerOf(route: Route, serving: HandlerDependencies): Handler | undefined {
  const { forwarder, replies, signHolder, world } = serving;
  if (isForwarded(route)) {
    if (route.kind === 'bulk') return bulkForwarder(route, serving);
    return async (request, reply) => {
      const { method, url, body, id: requestId } = request;
      const headers = dropJournalOfIfMatch(request.headers, world.journal.journalId);
      const shown = peerCertificate(request.raw.socket);
      return replies.relay(reply, await forwarder.forward({ method, url, headers, body, requestId, shown }));
    };
  }
  if (route.onFollower !== 'misdirect') return undefined;
  return async () => {
    const lease = await forwarder.holder();
    if (lease === undefined) throw noHolderProblem();
    const detail = `This server does not decide now. Send the request to ${lease.url}.`;
    const statement = signHolder?.(lease);
    const facts = { holder: lease.url, leaseEpoch: lease.epoch, ...(statement !== undefined && { statement }) };
    throw new HttpProblem({ status: 421, code: 'not-holder', detail, facts });
  };
}

function readHandler(route: RouteOf<'read'>, serving: HandlerDependencies): Handler {
  const callOf = compileCall(route);
  const { scansFleet, plansOnFleet, looksOutside } = route;
  const handleInSlice = async (call: Call): Promise<HandlerResult> =>
    serving.workload.slice(call.caller, () => route.handle(call, serving.world));
  const handlePlanned = (call: Call): Promise<HandlerResult> =>
    serving.workload.plan(call.caller, async () => route.handle(call, serving.world));
  const handle = (call: Call): HandlerResult | Promise<HandlerResult> => {
    if (plansOnFleet === true) return handlePlanned(call);
    if (looksOutside === true) return serving.workload.look(call.caller, async () => route.handle(call, serving.world));
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
  const prepare: FairScheduler['plan'] = (caller, work) =>
    route.looksOutside === true ? workload.look(caller, work) : workload.plan(caller, work);
  return async (request, reply) => {
    const call = callOf(request);
    let write = route.handle(call, world);
    if ('kind' in write) throw refusalProblem(write.refusal);
    const context = { request, world };
    let outcome = await submit(write, call, context);
    while (isUnprepared(outcome) && write.prepare !== undefined) {
      const prepared: Write | Refusal = await prepare(call.caller, write.prepare);
      if ('code' in prepared) return replies.sendProblem(reply, refusalProblem(limitRefusal(prepared, context)));
      write = prepared;
      outcome = await submit(write, call, context);
    }
    if (outcome.kind === 'refused')
      return replies.sendProblem(reply, refusalProblem(limitRefusal(outcome.refusal, context)));
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

function isUnprepared(outcome: Outcome<WriteOutcome>): boolean {
  return outcome.kind === 'refused' && outcome.refusal.code === NOT_PREPARED;
}

/** Headers are part of the answer, not set on the reply: an answer without a body bypasses the reply's headers. */
function markReplayed(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, 'idempotency-replayed': 'true' } };
}

function submit(
  write: Write,
  { caller, authority }: Call,
  { request, world }: SubmitContext,
): ReturnType<typeof world.submit<WriteOutcome>> {
  const ifMatch =
    write.target === undefined ? demandNoIfMatch(request) : ifMatchIn(request.headers, world.journal.journalId);
  const idempotency = idempotencyIn(request, world);
  const decide = guardWrite(write, { caller, ifMatch, idempotency, redactorFor: world.redactorFor });
  const { why, operation } = write;
  return world.submit(authority, {
    decide,
    ...(why !== undefined && { why }),
    ...(operation !== undefined && { operation }),
  });
}
