// The HTTP server: routes as data in, Fastify out. It starts nothing by itself, and it stops gracefully: requests
// in progress are completed.
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import {
  createAuthorizedSubmit,
  redactorFactory,
  type Route,
  type Representation,
  type RouteContext,
} from '../access/index.ts';
import type { Composition, DocumentMetric } from '../composition/index.ts';
import type { Refusal, Setting } from '../fleet/index.ts';
import type { Clock, Ids, Journal } from '../journal/index.ts';
import { AuditTrail } from './audit/audit-trail.ts';
import { Authenticator, hashSecret } from './authenticate.ts';
import { builtInRoutes } from './built-in.ts';
import { BulkSlots } from './limits/bulk-slots.ts';
import { newHttpApp, replaceCertificate, type CertificatePair, type TlsOptions } from './http-app.ts';
import type { CountClosed } from './limits/close-reasons.ts';
import { Connections } from './limits/connections.ts';
import { Forwarder } from './forward.ts';
import { RequestAdmission, type CheckPeer, type SignRefusal } from './request-admission.ts';
import { DEFAULT_LIMITS, type ServerLimits } from './limits/limits.ts';
import { checkListen, type ListenAddress } from './listen.ts';
import { Metrics } from './metrics.ts';
import { notFoundProblemFor } from './not-found.ts';
import { HttpProblem, problemOf } from './problem.ts';
import { createAnswerReplay, type AnswerReplay } from './answer-replay.ts';
import type { PeerProofs } from './peer-proof.ts';
import { ReplyWriter } from './reply-writer.ts';
import type { SignHolder } from './handler.ts';
import { handlerOf } from './route-handler.ts';
import { Streams } from './streams.ts';
import { FairScheduler } from './limits/fair-scheduler.ts';

export interface ServerOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Those of the modules; the server adds its own. */
  readonly routes: readonly Route[];
  /** Every kind that watchers and the history may show. */
  readonly representations: readonly Representation<string, never>[];
  /** Where documents belong, for watches and history. */
  readonly scopes: Pick<Composition, 'scopeOf'>;
  readonly settings: readonly Setting[];
  readonly seal: RouteContext['seal'];
  readonly documentMetrics?: readonly DocumentMetric<never>[];
  readonly log: Logger;
  /** Made by whoever counts what the server does not see. */
  readonly metrics?: Metrics;
  readonly limits?: Partial<ServerLimits>;
  readonly tls?: TlsOptions;
  readonly insecure?: boolean;
  /** Where others reach this server, when that is not where it listens. */
  readonly url?: string;
  readonly version?: string;
  /** Where refused requests are kept for the audit; without it they are only logged. */
  readonly auditFolder?: string;
  readonly keepAliveMs?: number;
  /** Called for a host whose revoked credential was presented; returns what else the refusal says. */
  readonly onRevokedCredential?: (host: string, token: string) => Refusal | undefined;
  /** What proves to an agent that it is sent on to the lease holder by the control plane. */
  readonly signHolder?: SignHolder;
  readonly signRefusal?: SignRefusal;
  readonly checkPeer?: CheckPeer;
  /** For callers with certificates whose requests are forwarded between servers. */
  readonly peerProofs?: PeerProofs;
}

export interface ApiServer {
  readonly app: FastifyInstance;
  /** Everything it serves. */
  readonly routes: readonly Route[];
  readonly metrics: Metrics;
  /** Opens the socket; answers the URL. */
  listen(address: ListenAddress): Promise<string>;
  url(): string | undefined;
  /** Shown to those who connect from now on; connections that are open stay as they are. Without TLS it does nothing. */
  replaceCertificate(pair: CertificatePair): void;
  /** Takes nothing new, ends streams, answers what has begun, then closes. */
  close(): Promise<void>;
}

/** A request that is still under way after this is cut off: its client is gone or will never finish sending. */
const CLOSE_TIMEOUT_MS = 10_000;
const IDLE_SWEEP_MS = 20;

export function createServer(options: ServerOptions): ApiServer {
  const closing = new AbortController();
  let url: string | undefined;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const metrics = options.metrics ?? new Metrics();
  const parts = buildParts(options, { closing: closing.signal, limits, metrics });
  const server = (): string => options.url ?? url ?? 'not listening';
  const { authenticator } = parts;
  const trail = new AuditTrail({ ...options, metrics, server, folder: options.auditFolder, authenticator });
  const replies = new ReplyWriter({ metrics, log: options.log, trail, journalId: options.journal.journalId });
  const app = newHttpApp({
    ...{ tls: options.tls, limits, replies, connections: parts.connections },
    countClosed: countClosedIn(metrics),
  });
  let routes: readonly Route[] = [];
  const forwarder = new Forwarder({
    store: options.journal.store,
    clock: options.clock,
    ownUrl: () => options.url ?? url,
    peerProofs: options.peerProofs,
  });
  const built = builtInRoutes({
    ...options,
    metrics,
    workload: parts.workload,
    forwarder: () => forwarder,
    isServing: () => !closing.signal.aborted,
    routes: () => routes,
    audited: { files: trail.files, server },
  });
  routes = [...options.routes, ...built.routes];
  const { journal, clock, log, signHolder, documentMetrics = [] } = options;
  const stops = [built.follow(journal), parts.streams.follow(journal), metrics.follow(journal, clock, documentMetrics)];
  const replay = createAnswerReplay({ ...parts.world, representations: options.representations });
  addRoutes(app, routes, { ...parts, forwarder, replies, replay, trail, log, signHolder });
  const stop = createClose(app, parts.streams, closing, journal);
  return {
    app,
    routes,
    metrics,
    url: () => options.url ?? url,
    replaceCertificate: ({ cert, key }) => {
      if (options.tls !== undefined) replaceCertificate(app, { ...options.tls, cert, key });
    },
    listen: async (address) => {
      checkListen(address.host, { tls: options.tls !== undefined, insecure: options.insecure === true });
      await app.listen(address);
      const { port } = app.server.address() as AddressInfo;
      url = urlOf(address.host, port, options);
      return options.url ?? url;
    },
    close: async () => {
      await stop();
      await trail.close();
      for (const unfollow of stops) unfollow();
    },
  };
}

function urlOf(host: string, port: number, { tls }: ServerOptions): string {
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

interface Inner {
  readonly closing: AbortSignal;
  readonly limits: ServerLimits;
  readonly metrics: Metrics;
}

interface ApiParts {
  readonly world: RouteContext;
  readonly gate: RequestAdmission;
  readonly streams: Streams;
  readonly authenticator: Authenticator;
  readonly workload: FairScheduler;
  readonly connections: Connections;
  readonly bulkSlots: BulkSlots;
}

function buildParts(options: ServerOptions, inner: Inner): ApiParts {
  const { closing, limits } = inner;
  const { journal, clock, ids, keepAliveMs, onRevokedCredential, signRefusal, checkPeer, peerProofs } = options;
  const authenticator = new Authenticator(journal.fleet);
  const connections = new Connections(limits, countClosedIn(inner.metrics));
  return {
    connections,
    authenticator,
    world: {
      ...{ journal, clock, ids, closing },
      hash: hashSecret,
      seal: options.seal,
      submit: createAuthorizedSubmit(journal),
      redactorFor: redactorFactory(options.representations),
    },
    gate: new RequestAdmission({
      ...inner,
      connections,
      journal,
      clock,
      authenticator,
      onRevokedCredential,
      signRefusal,
      checkPeer,
      peerProofs,
    }),
    workload: new FairScheduler(clock, limits),
    streams: new Streams({ limits, authenticator, clock, closing, keepAliveMs }),
    bulkSlots: new BulkSlots(limits),
  };
}

interface Wiring extends ApiParts {
  readonly forwarder: Forwarder;
  readonly replies: ReplyWriter;
  readonly replay: AnswerReplay;
  readonly trail: AuditTrail;
  readonly log: Logger;
  readonly signHolder?: SignHolder | undefined;
}

function countClosedIn(metrics: Metrics): CountClosed {
  return (reason) => metrics.countClosedConnection(reason);
}

function addRoutes(app: FastifyInstance, routes: readonly Route[], wiring: Wiring): void {
  const { gate, log, replies } = wiring;
  app.decorateRequest('admitted', undefined);
  app.setErrorHandler((error, request, reply) => {
    const { bodyLimit: bytesMax } = request.routeOptions;
    const problem = problemOf(error, { bytesMax, type: request.admitted?.route.bodyType });
    if (problem.status >= 500 && !(error instanceof HttpProblem))
      log.error({ err: error, requestId: request.id }, 'a request failed');
    return replies.sendProblem(reply, problem);
  });
  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path,
      ...(route.bodyBytesMax !== undefined && route.kind !== 'bulk' && { bodyLimit: route.bodyBytesMax }),
      exposeHeadRoute: route.method === 'GET' && route.kind === 'read',
      onRequest: gate.hook(route),
      handler: handlerOf(route, wiring),
    });
  }
  const missing = notFoundProblemFor(routes);
  app.setNotFoundHandler((request, reply) => {
    gate.limitAnonymous(request, wiring.world.clock.nowMs());
    return replies.sendProblem(reply, missing(request.method, request.url));
  });
}

function createClose(
  app: FastifyInstance,
  streams: Streams,
  closing: AbortController,
  journal: Journal,
): () => Promise<void> {
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closing.abort();
    await streams.close();
    // Connections that fall idle only after the socket was closed would else be kept for their whole timeout.
    const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
    const patience = setTimeout(() => app.server.closeAllConnections(), CLOSE_TIMEOUT_MS);
    try {
      await app.close();
    } finally {
      clearInterval(sweep);
      clearTimeout(patience);
    }
    await journal.idle();
  };
  return () => (closed ??= close());
}
