// Sends an answer as large as the fleet: its text is rendered in slices, in turn with other callers, and no faster than the reader accepts it.
// It is cut off when the caller's token expires or is revoked.
import type { FastifyReply } from 'fastify';
import type { Answer, Route } from '../access/index.ts';
import { ResponseSink } from './response-sink.ts';
import { callerOf, type RequestAdmission } from './request-admission.ts';
import { HttpProblem } from './problem.ts';
import type { ReplyWriter } from './reply-writer.ts';
import type { FairScheduler } from './limits/fair-scheduler.ts';

/** A slice lasts until it has so much text: a few hundred nodes, about a millisecond. */
const SLICE_CHARACTERS = 64 * 1024;

interface SendContext {
  readonly replies: ReplyWriter;
  readonly workload: FairScheduler;
  readonly gate: RequestAdmission;
}

export type PiecedAnswer = Answer & Required<Pick<Answer, 'pieces'>>;

export async function sendPieces(
  reply: FastifyReply,
  { answer, route, revision }: { readonly answer: PiecedAnswer; readonly route: Route; readonly revision: number },
  { replies, workload, gate }: SendContext,
): Promise<FastifyReply> {
  const { request } = reply;
  if (!replies.begin(reply, answer, revision)) return reply;
  const out = new ResponseSink(reply.raw);
  const pieces = answer.pieces()[Symbol.iterator]() as Iterator<string, undefined>;
  for (;;) {
    const text = await workload.slice(callerOf(request), () =>
      isStillAuthorized(gate, { route, reply }) ? slice(pieces) : undefined,
    );
    if (text === '') break;
    // Cut off, so that no client takes what came for the whole.
    if (text === undefined || !(await out.send(text))) {
      reply.raw.destroy();
      break;
    }
  }
  replies.end(reply);
  return reply;
}

/** Empty when there is no more. */
function slice(pieces: Iterator<string, undefined>): string {
  let text = '';
  while (text.length < SLICE_CHARACTERS) {
    const { done, value } = pieces.next();
    if (done === true) return text;
    text += value;
  }
  return text;
}

function isStillAuthorized(
  gate: RequestAdmission,
  { route, reply }: { readonly route: Route; readonly reply: FastifyReply },
): boolean {
  try {
    gate.confirm(route, reply.request);
    return true;
  } catch (error) {
    if (error instanceof HttpProblem) return false;
    throw error;
  }
}
