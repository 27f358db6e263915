// Fastify as this server uses it: its sockets, with TLS or without, its limits, the ids of requests, and how bodies are read. It knows no routes.
import { randomBytes } from 'node:crypto';
import { createServer as createSecure, Server as SecureServer, type ServerOptions as SecureOptions } from 'node:https';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { http } from '../link/index.ts';
import { parseJson } from './input/json-body.ts';
import { repeatedBody } from './input/repeated-body.ts';
import type { CountClosed } from './limits/close-reasons.ts';
import type { Connections } from './limits/connections.ts';
import type { ServerLimits } from './limits/limits.ts';
import { problemOf, unsupportedMediaType } from './problem.ts';
import { HEADER_BYTES_MAX, refuseConnection } from './refuse-connection.ts';
import type { ReplyWriter } from './reply-writer.ts';
import { YANG_JSON } from './restconf/errors.ts';
import { refuseYangElsewhere } from './restconf/media-types.ts';

export interface CertificatePair {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

export interface TlsOptions extends CertificatePair {
  /**
   * Requests a certificate of each client, and accepts the connection with or without one: `checkPeer` decides, for agents alone. The
   * authority, in PEM form, is a hint for clients that have several certificates: browsers do not offer others.
   */
  readonly clients?: { readonly authority: string };
}

/** When `Connections` has missed one that takes too long to come. No route allows more. */
const REQUEST_TIMEOUT_MS = 10 * 60_000;
/** How often connections are looked at that have taken too long; Node's own 30 s would let them stay three times as long. */
const TIMEOUT_CHECK_MS = 1000;
/**
 * Longer than the pauses of those who come again: agents every few seconds, scrapers every minute. Node's own 5 s would have
 * every agent open a connection for every heartbeat.
 */
const KEEP_ALIVE_MS = 72_000;
/** Ids have up to 200 characters, and an escape takes three. */
const PARAM_LENGTH_MAX = 600;

export interface HttpAppParts {
  readonly tls?: TlsOptions | undefined;
  readonly limits: ServerLimits;
  readonly replies: ReplyWriter;
  readonly connections: Connections;
  readonly countClosed: CountClosed;
}

export function newHttpApp({ tls, limits, replies, connections, countClosed }: HttpAppParts): FastifyInstance {
  const boot = randomBytes(4).toString('hex');
  let count = 0;
  const app = fastify({
    logger: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX },
    rewriteUrl: ({ url = '' }) => withPlainColons(url),
    genReqId: (request) => {
      const id = request.headers['x-request-id'];
      if (typeof id === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(id)) return id;
      count += 1;
      return `rq-${boot}-${count.toString(36)}`;
    },
    frameworkErrors: (error, _, reply) => void replies.sendProblem(reply as FastifyReply, problemOf(error)),
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, countClosed),
    serverFactory: (handler) => {
      const server = {
        maxHeaderSize: HEADER_BYTES_MAX,
        headersTimeout: limits.headersMs,
        requestTimeout: REQUEST_TIMEOUT_MS,
        connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_MS, limits.headersMs),
        keepAliveTimeout: KEEP_ALIVE_MS,
      };
      const made =
        tls === undefined
          ? http.createServer(server, handler)
          : createSecure({ ...server, ...secureOptions(tls), handshakeTimeout: limits.headersMs }, handler);
      connections.track(made, { isTls: tls !== undefined });
      return made;
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/x-ndjson', (request, body, done) => {
    // Whoever handles it reads it, line by line.
    if (request.is404 || request.admitted?.route.kind === 'bulk') done(null, request.is404 ? undefined : body);
    else done(unsupportedMediaType());
  });
  app.addContentTypeParser(['application/json', YANG_JSON], { parseAs: 'string' }, (request, body, done) => {
    try {
      done(null, parseBody(request, body as string));
    } catch (error) {
      done(error as Error);
    }
  });
  return app;
}

/** Shown to those who connect from now on. Without TLS it does nothing. */
export function replaceCertificate(app: FastifyInstance, tls: TlsOptions): void {
  // Everything else that was said about TLS has to be said again: a new context begins with Node's defaults.
  if (app.server instanceof SecureServer) app.server.setSecureContext(secureOptions(tls));
}

function secureOptions({ cert, key, clients }: TlsOptions): SecureOptions {
  if (clients === undefined) return { cert, key };
  return { cert, key, ca: clients.authority, requestCert: true, rejectUnauthorized: false };
}

/** A colon may be written as an escape wherever it stands (RFC 3986); the names of YANG modules are before one. */
function withPlainColons(url: string): string {
  if (!url.startsWith('/restconf/') || !url.includes('%3')) return url;
  const [path = '', ...query] = url.split('?');
  return [path.replaceAll(/%3a/gi, ':'), ...query].join('?');
}

/** What no route takes is not looked at: that there is none is the answer. */
function parseBody(request: FastifyRequest, text: string): unknown {
  if (request.is404) return undefined;
  const { admitted } = request;
  refuseYangElsewhere(request.headers['content-type'], admitted?.route);
  if (admitted?.route.kind === 'bulk') throw unsupportedMediaType(admitted.route.bodyType);
  return admitted?.route.bodyRepeats === true ? repeatedBody(admitted, text) : parseJson(text);
}
