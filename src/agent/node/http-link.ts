// The link over HTTP: the desk's routes as an agent calls them. It translates and checks; it decides nothing.
import { Type } from 'typebox';
import { compileChecker } from '../../fleet/index.ts';
import { HttpConnections, type HttpResponse, type HttpRequest, type Origin } from '../link/http-request.ts';
import { tryParseJson } from '../link/json-text.ts';
import {
  COLLECT_WAIT_MAX_MS,
  COLLECT_RESPONSE,
  DEPOSIT_RESPONSE,
  HEARTBEAT_RESPONSE,
  ISSUED_CERTIFICATE,
  JOIN_RESPONSE,
  OBSERVATIONS_RESPONSE,
  VIEW,
  VIEW_RESPONSE,
  VIEW_WAIT_MAX_MS,
  type CollectRequest,
  type CollectResponse,
  type DepositRequest,
  type DepositResponse,
  type HeartbeatResponse,
  type Heartbeat,
  type IssuedCertificate,
  type JoinRequest,
  type JoinResponse,
  type Observations,
  type ObservationsResponse,
  type ViewResponse,
  type ViewRequest,
} from '../protocol/messages.ts';
import { LinkDown, type CertificateLink, type AgentLink, type Reply, type Session } from './ports.ts';
import { transportTo } from '../link/server-address.ts';
import type { Fingerprint } from '../link/server-pin.ts';
import { isSigned, type SignedText } from '../protocol/statement.ts';

export interface HttpLinkOptions {
  /** Certificates in PEM that servers are trusted by, instead of the system's. */
  readonly ca?: string | undefined;
  /** Fingerprints that servers are known by: one that shows none of them is not spoken to. */
  readonly pins?: readonly Fingerprint[] | undefined;
  readonly timeoutMs?: number | undefined;
  /** Speak plain HTTP to other machines, too: secrets then cross the network in clear text. */
  readonly insecure?: boolean | undefined;
}

/** Less than the heartbeats that a host may miss before it is suspect: another server can still be tried. */
const TIMEOUT_MS = 5000;
/** On top of the wait at the server, or of the way of a large body: a slow answer is still an answer. */
const GRACE_MS = 10_000;

const VIEW_REPLY = Type.Union([
  Type.Object({ ...VIEW_RESPONSE.properties, kind: Type.Literal('unchanged') }),
  Type.Object({ ...VIEW_RESPONSE.properties, kind: Type.Literal('view'), view: VIEW }),
]);

type Check = ReturnType<typeof compileChecker>;

const CHECKS = {
  joined: compileChecker(JOIN_RESPONSE),
  issued: compileChecker(ISSUED_CERTIFICATE),
  heard: compileChecker(HEARTBEAT_RESPONSE),
  view: compileChecker(VIEW_REPLY),
  observed: compileChecker(OBSERVATIONS_RESPONSE),
  deposited: compileChecker(DEPOSIT_RESPONSE),
  collected: compileChecker(COLLECT_RESPONSE),
};

interface PostRequest {
  readonly body: object;
  readonly check: Check;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export class HttpLink implements AgentLink {
  readonly #connections: HttpConnections;
  readonly #timeoutMs: number;
  readonly #insecure: boolean;
  /** By the server's address: an agent has few, and asks them all the time. */
  readonly #origins = new Map<string, Origin>();
  readonly certificates: CertificateLink = {
    renew: async (to, renewal) =>
      this.#post<IssuedCertificate>(to, '/api/v1/agent/certificate', { body: renewal, check: CHECKS.issued }),
    present: (pair) => this.#connections.present(pair),
  };

  constructor(options: HttpLinkOptions = {}) {
    this.#insecure = options.insecure === true;
    const { ca, pins } = options;
    this.#connections = new HttpConnections({ ca, pins, loopbackOnly: !this.#insecure });
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  isAuthenticated(server: string): boolean {
    // A server over HTTPS that is neither trusted nor pinned is not spoken to at all.
    return transportTo(server) === 'https';
  }

  /** Lets go of the kept connections. */
  close(): void {
    this.#connections.close();
  }

  async join(to: Session, join: JoinRequest): Promise<Reply<JoinResponse>> {
    return this.#post<JoinResponse>(to, '/api/v1/agent/join', { body: join, check: CHECKS.joined });
  }

  async heartbeat(to: Session, beat: Heartbeat): Promise<Reply<HeartbeatResponse>> {
    return this.#post<HeartbeatResponse>(to, '/api/v1/agent/heartbeat', { body: beat, check: CHECKS.heard });
  }

  async observe(to: Session, observations: Observations): Promise<Reply<ObservationsResponse>> {
    return this.#post<ObservationsResponse>(to, '/api/v1/agent/observations', {
      body: observations,
      check: CHECKS.observed,
    });
  }

  async view(to: Session, ask: ViewRequest, signal: AbortSignal): Promise<Reply<ViewResponse>> {
    const words = Object.entries(ask).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
    const path = `/api/v1/agent/view?${words.join('&')}`;
    const timeoutMs = (ask.waitMs ?? VIEW_WAIT_MAX_MS) + GRACE_MS;
    const origin = this.#origin(to.server);
    return this.#send<ViewResponse>({ origin, path, method: 'GET', secret: to.secret, timeoutMs, signal }, CHECKS.view);
  }

  async deposit(to: Session, deposit: DepositRequest): Promise<Reply<DepositResponse>> {
    const sent = { body: deposit, check: CHECKS.deposited, timeoutMs: this.#timeoutMs + GRACE_MS };
    return this.#post<DepositResponse>(to, '/api/v1/agent/connections/deposit', sent);
  }

  async collect(to: Session, ask: CollectRequest, signal: AbortSignal): Promise<Reply<CollectResponse>> {
    const timeoutMs = (ask.waitMs ?? COLLECT_WAIT_MAX_MS) + GRACE_MS;
    const sent = { body: ask, check: CHECKS.collected, timeoutMs, signal };
    return this.#post<CollectResponse>(to, '/api/v1/agent/connections/collect', sent);
  }

  async #post<A>(to: Session, path: string, { body, check, timeoutMs, signal }: PostRequest): Promise<Reply<A>> {
    const asked: HttpRequest = {
      origin: this.#origin(to.server),
      path,
      method: 'POST',
      secret: to.secret,
      body: JSON.stringify(body),
      timeoutMs: timeoutMs ?? this.#timeoutMs,
      ...(signal !== undefined && { signal }),
    };
    return this.#send<A>(asked, check);
  }

  #origin(server: string): Origin {
    let origin = this.#origins.get(server);
    if (origin === undefined) this.#origins.set(server, (origin = this.#resolveOrigin(server)));
    return origin;
  }

  /** Decided here as well as where servers are chosen: nothing above this can send a secret in clear text by mistake. */
  #resolveOrigin(server: string): Origin {
    if (transportTo(server) === 'http' && !this.#insecure)
      throw new LinkDown(`"${server}" is another machine, and plain HTTP shows secrets to everybody on the way`);
    return parseOrigin(server);
  }

  async #send<A>(asked: HttpRequest, check: Check): Promise<Reply<A>> {
    const answered = await this.#connections.send(asked);
    const value = tryParseJson(answered.text);
    if (answered.status !== 200) return toErrorReply(answered, value);
    const problems = check(value);
    if (problems.length > 0) throw new LinkDown(`the server answered what this agent does not understand`);
    return { kind: 'answer', answer: value as A };
  }
}

function parseOrigin(server: string): Origin {
  const url = URL.parse(server);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new LinkDown(`"${server}" is not the address of a server`);
  const isSecure = url.protocol === 'https:';
  const { hostname, port } = url;
  return {
    isSecure,
    // An IPv6 address stands in brackets there.
    hostname: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    port: port === '' ? (isSecure ? '443' : '80') : port,
  };
}

const MISDIRECTED = 421;
/** The server is there and cannot answer now, or wants to be left alone for a moment. */
const TRANSIENT_STATUSES: readonly number[] = [408, 425, 429];

interface Problem {
  readonly code?: unknown;
  readonly detail?: unknown;
  readonly holder?: unknown;
  readonly statement?: unknown;
}

function toErrorReply({ status, location }: HttpResponse, value: unknown): Reply<never> {
  const problem = (typeof value === 'object' && value !== null ? value : {}) as Problem;
  if (status === MISDIRECTED) {
    const holder = typeof problem.holder === 'string' ? problem.holder : URL.parse(location ?? '')?.origin;
    return { kind: 'elsewhere', ...(holder !== undefined && { holder }), ...statementOf(problem) };
  }
  // An answer without a code is not from our server: a proxy's page, another program on the port.
  if (status < 400 || status >= 500 || TRANSIENT_STATUSES.includes(status) || typeof problem.code !== 'string')
    throw new LinkDown(`the server answered ${status}`);
  const message = typeof problem.detail === 'string' ? problem.detail : `The server answered ${status}.`;
  return { kind: 'refused', code: problem.code, message, ...statementOf(problem) };
}

function statementOf({ statement }: Problem): { readonly statement?: SignedText } {
  return isSigned(statement) ? { statement } : {};
}
