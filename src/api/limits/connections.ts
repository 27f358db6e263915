// Limits the connections of the server. A connection is unauthenticated until a request with a valid token came on it: unauthenticated ones are
// limited by address (IPv6: by /64), callers by credential, all together by the file descriptors of the process. Callers behind one
// address are never limited by that address. Of the requests themselves only one thing is examined: whether the body comes in time.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import { permits } from '../../access/index.ts';
import { addressBlockOf } from './address-block.ts';
import type { CallerState } from '../authenticate.ts';
import type { CloseReason, CountClosed } from './close-reasons.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import { HttpProblem } from '../problem.ts';
import { refuseConnection } from '../refuse-connection.ts';
import type { ServerLimits } from './limits.ts';
import type { Usage } from './usage.ts';

interface ClientConnection {
  /** Of the peer, as far as strangers are counted by it. */
  readonly block: string;
  /** Taken beyond the limit: only an administrator is served on it. */
  readonly isReserved: boolean;
  socket: Socket;
  /** The credential that used it last; undefined for a stranger. */
  owner: Usage | undefined;
  /** It counts no more. */
  isClosed: boolean;
  /** Bytes in both directions, at the last check. */
  bytes: number;
  /** The last request on it, until its body is there. */
  incoming: IncomingRequest | undefined;
}

interface IncomingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** When the whole body has to be there. */
  untilMs: number;
}

/**
 * How often connections are searched for those on which nothing moved since: their peers are gone, or take no answer. Long polls are
 * answered and streams send a sign of life several times as often. A timer for each connection would be set anew with each request.
 */
const INACTIVITY_MS = 120_000;
/** How often connections are searched for bodies that take too long; less than a second makes no difference. */
const BODY_CHECK_MS = 1000;
/** A new connection has a whole interval to say something. */
const NOTHING_YET = -1;

const CONNECTION = Symbol('connection');
type Tracked = Socket & { [CONNECTION]?: ClientConnection };

export class Connections {
  readonly #limits: ConnectionLimits & Pick<ServerLimits, 'bodyMs'>;
  readonly #countClosed: CountClosed;
  readonly #all = new Set<ClientConnection>();
  /** Oldest first. */
  readonly #anonymous = new Set<ClientConnection>();
  readonly #anonymousByBlock = new Map<string, Set<ClientConnection>>();
  /** Connections whose TLS handshake is not over, by their remote end. */
  readonly #handshaking = new Map<string, ClientConnection>();

  constructor(limits: ConnectionLimits & Pick<ServerLimits, 'bodyMs'>, countClosed: CountClosed) {
    this.#limits = limits;
    this.#countClosed = countClosed;
  }

  track(server: Server, { isTls }: { readonly isTls: boolean }): void {
    server.on('connection', (socket: Socket) => {
      const connection = this.#accept(socket);
      if (connection === undefined || !isTls) return;
      const key = remoteEnd(socket);
      this.#handshaking.set(key, connection);
      socket.once('close', () => this.#handshaking.delete(key));
    });
    // HTTP requests come with the socket that decrypts, not with the one that was accepted.
    server.on('secureConnection', (socket: Socket) => {
      const key = remoteEnd(socket);
      const connection = this.#handshaking.get(key);
      this.#handshaking.delete(key);
      if (connection === undefined) return;
      connection.socket = socket;
      (socket as Tracked)[CONNECTION] = connection;
    });
    // Before whoever answers, who may allow more.
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) =>
      this.#expectBody(request, response),
    );
    const timers = [
      setInterval(() => this.sweep(), INACTIVITY_MS),
      setInterval(() => this.refuseLateBodies(performance.now()), Math.min(BODY_CHECK_MS, this.#limits.bodyMs)),
    ];
    for (const timer of timers) timer.unref();
    server.once('close', () => timers.forEach((timer) => clearInterval(timer)));
  }

  #expectBody(request: IncomingMessage, response: ServerResponse): void {
    const connection = (request.socket as Tracked)[CONNECTION];
    if (connection !== undefined)
      connection.incoming = { request, response, untilMs: performance.now() + this.#limits.bodyMs };
  }

  /** The body of the request on this connection has so much time from now on; what comes after that is not read. */
  allowBodyTime(socket: Socket, ms: number): void {
    const incoming = (socket as Tracked)[CONNECTION]?.incoming;
    if (incoming !== undefined) incoming.untilMs = performance.now() + ms;
  }

  /** Node has one limit for all requests. Routes have their own, and a sender that was answered already has hardly any. */
  refuseLateBodies(nowMs: number): void {
    for (const connection of this.#all) {
      const { incoming, socket } = connection;
      if (incoming === undefined) continue;
      const { request, response, untilMs } = incoming;
      if (request.complete) connection.incoming = undefined;
      else if (nowMs < untilMs) continue;
      else if (response.headersSent) this.#cut(connection, 'request-too-slow');
      else refuseConnection(lateBody(), socket, this.#countClosed);
    }
  }

  /** Cuts the connections on which nothing moved since the last sweep. */
  sweep(): void {
    for (const connection of this.#all) {
      const { bytesRead, bytesWritten } = connection.socket;
      const bytes = bytesRead + bytesWritten;
      if (bytes === connection.bytes) this.#cut(connection, 'inactive');
      else connection.bytes = bytes;
    }
  }

  #accept(socket: Socket): ClientConnection | undefined {
    const { connections, connectionsReservedForAdmins, anonymousPerAddress } = this.#limits;
    const block = addressBlockOf(socket.remoteAddress ?? '');
    const here = this.#anonymousByBlock.get(block);
    // The oldest is closed: a client with a request has sent it by then, and the new one may be a known caller.
    if (here !== undefined && here.size >= anonymousPerAddress) this.#evictFirst(here, 'address-limit');
    if (this.#all.size >= connections) this.#evictFirst(this.#anonymous, 'connection-limit');
    if (this.#all.size >= connections + connectionsReservedForAdmins) {
      this.#countClosed('none-left');
      socket.destroy();
      return undefined;
    }
    const connection: ClientConnection = {
      block,
      isReserved: this.#all.size >= connections,
      socket,
      owner: undefined,
      isClosed: false,
      bytes: NOTHING_YET,
      incoming: undefined,
    };
    this.#all.add(connection);
    this.#addAnonymous(connection);
    (socket as Tracked)[CONNECTION] = connection;
    socket.once('close', () => this.#release(connection));
    return connection;
  }

  /** Called with every request of a known caller: the connection is that caller's from now on. */
  attribute(socket: Socket, known: CallerState): void {
    const connection = (socket as Tracked)[CONNECTION];
    if (connection === undefined || connection.owner === known.usage || connection.isClosed) return;
    this.#enforceLimits(connection, known);
    if (connection.owner === undefined) this.#dropAnonymous(connection);
    else connection.owner.connections -= 1;
    connection.owner = known.usage;
    known.usage.connections += 1;
  }

  #enforceLimits(connection: ClientConnection, { caller, usage }: CallerState): void {
    const headers = { 'retry-after': '5', connection: 'close' };
    if (connection.isReserved && !permits(caller, 'admin')) {
      this.#countClosed('reserved-for-admins');
      const detail = 'This server has as many connections open as it takes. Close some, or ask another server.';
      throw new HttpProblem({ status: 503, code: 'too-many-connections', detail, headers });
    }
    if (usage.connections < this.#limits.connectionsPerToken) return;
    this.#countClosed('token-limit');
    const detail = `Your token has ${usage.connections} connections open, as many as one token may have. Use them again instead of opening new ones.`;
    throw new HttpProblem({ status: 429, code: 'too-many-connections', detail, headers });
  }

  #evictFirst(connections: ReadonlySet<ClientConnection>, reason: CloseReason): void {
    for (const connection of connections) {
      this.#cut(connection, reason);
      return;
    }
  }

  #cut(connection: ClientConnection, reason: CloseReason): void {
    this.#countClosed(reason);
    this.#release(connection);
    connection.socket.destroy();
  }

  #release(connection: ClientConnection): void {
    if (connection.isClosed) return;
    connection.isClosed = true;
    this.#all.delete(connection);
    if (connection.owner === undefined) this.#dropAnonymous(connection);
    else connection.owner.connections -= 1;
  }

  #addAnonymous(connection: ClientConnection): void {
    this.#anonymous.add(connection);
    const here = this.#anonymousByBlock.get(connection.block);
    if (here === undefined) this.#anonymousByBlock.set(connection.block, new Set([connection]));
    else here.add(connection);
  }

  #dropAnonymous(connection: ClientConnection): void {
    this.#anonymous.delete(connection);
    const here = this.#anonymousByBlock.get(connection.block);
    here?.delete(connection);
    if (here?.size === 0) this.#anonymousByBlock.delete(connection.block);
  }
}

function remoteEnd({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}

function lateBody(): Error & { readonly code: string } {
  return Object.assign(new Error('the body is late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
}
