// What handlers of routes work with: the parts of the server, and the form of a handler.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Route, RouteContext } from '../access/index.ts';
import type { AnswerReplay } from './answer-replay.ts';
import type { AuditTrail } from './audit/audit-trail.ts';
import type { Forwarder } from './forward.ts';
import type { BulkSlots } from './limits/bulk-slots.ts';
import type { Connections } from './limits/connections.ts';
import type { FairScheduler } from './limits/fair-scheduler.ts';
import type { ReplyWriter } from './reply-writer.ts';
import type { RequestAdmission } from './request-admission.ts';
import type { Streams } from './streams.ts';

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

export type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;
export type RouteOf<K extends Route['kind']> = Extract<Route, { kind: K }>;
