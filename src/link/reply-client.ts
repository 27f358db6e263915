// Calls to a server of the control plane over HTTP, and what its answers mean to whoever dials. The callers bring paths and schemas.
import type { compileChecker } from '../fleet/index.ts';
import { isCertificateRefusal } from './certificates/certificate-refusals.ts';
import { LinkDown, type KeyPair, type Reply, type CallTarget } from './call.ts';
import { HttpConnections, type HttpRequest, type HttpResponse, type Origin } from './http-request.ts';
import { tryParseJson } from './json-text.ts';
import { transportTo } from './server-address.ts';
import type { Fingerprint } from './server-pin.ts';
import { isSigned, type SignedText } from './signed-text.ts';

export interface ReplyClientOptions {
  /** Certificates in PEM that servers are trusted by, instead of the system's. */
  readonly ca?: string | undefined;
  /** Fingerprints that servers are known by: one that shows none of them is not spoken to. */
  readonly pins?: readonly Fingerprint[] | undefined;
  /** For calls that name none of their own. */
  readonly timeoutMs: number;
  /** Speak plain HTTP to other machines, too: secrets then cross the network in clear text. */
  readonly insecure?: boolean | undefined;
  /** Of whoever shows a certificate. Another server may take one that this one does not: a call that is refused for it counts as not answered. */
  readonly onCertificate?: ((verdict: 'refused' | 'accepted') => void) | undefined;
}

type Check = ReturnType<typeof compileChecker>;

interface GetRequest {
  /** What is wrong with an answer; nothing is when it is one to this request. */
  readonly check: Check;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** The media type that is requested; the server's usual one when nothing is said. */
  readonly accept?: string | undefined;
}

interface PostRequest extends GetRequest {
  readonly body: object;
}

export class ReplyClient {
  readonly #connections: HttpConnections;
  readonly #timeoutMs: number;
  readonly #insecure: boolean;
  readonly #onCertificate: ReplyClientOptions['onCertificate'];
  /** By the server's address: a caller has few, and calls them all the time. */
  readonly #origins = new Map<string, Origin>();

  constructor({ ca, pins, timeoutMs, insecure, onCertificate }: ReplyClientOptions) {
    this.#onCertificate = onCertificate;
    this.#insecure = insecure === true;
    this.#connections = new HttpConnections({ ca, pins, loopbackOnly: !this.#insecure });
    this.#timeoutMs = timeoutMs;
  }

  /** Closes the kept connections. */
  close(): void {
    this.#connections.close();
  }

  /** Every connection that is opened from now on shows this certificate; undefined: none. Requests under way are finished. */
  present(pair: KeyPair | undefined): void {
    this.#connections.present(pair);
  }

  async get<A>(to: CallTarget, path: string, request: GetRequest): Promise<Reply<A>> {
    return this.#send<A>({ ...this.#request(to, request), path, method: 'GET' }, request.check);
  }

  async post<A>(to: CallTarget, path: string, request: PostRequest): Promise<Reply<A>> {
    return this.#sendBody<A>('POST', to, path, request);
  }

  async put<A>(to: CallTarget, path: string, request: PostRequest): Promise<Reply<A>> {
    return this.#sendBody<A>('PUT', to, path, request);
  }

  #sendBody<A>(method: 'POST' | 'PUT', to: CallTarget, path: string, request: PostRequest): Promise<Reply<A>> {
    const body = JSON.stringify(request.body);
    return this.#send<A>({ ...this.#request(to, request), path, method, body }, request.check);
  }

  #request(
    { server, secret }: CallTarget,
    { timeoutMs, signal, accept }: GetRequest,
  ): Omit<HttpRequest, 'path' | 'method'> {
    return {
      origin: this.#origin(server),
      secret,
      accept,
      timeoutMs: timeoutMs ?? this.#timeoutMs,
      ...(signal !== undefined && { signal }),
    };
  }

  #origin(server: string): Origin {
    let origin = this.#origins.get(server);
    if (origin === undefined) this.#origins.set(server, (origin = this.#resolveOrigin(server)));
    return origin;
  }

  /** Decided here as well as where servers are chosen: nothing above this can send a secret in clear text by mistake. */
  #resolveOrigin(server: string): Origin {
    if (transportTo(server) === 'http' && !this.#insecure)
      throw new LinkDown(`"${server}" is another machine, and plain HTTP shows secrets to every machine on the way`);
    return parseOrigin(server);
  }

  async #send<A>(request: HttpRequest, check: Check): Promise<Reply<A>> {
    const answered = await this.#connections.send(request);
    const value = tryParseJson(answered.text);
    if (answered.status < 200 || answered.status >= 300) return this.#noteRefusal(toErrorReply(answered, value));
    const problems = check(value);
    if (problems.length > 0) throw new LinkDown('the server answered what this program does not know');
    this.#onCertificate?.('accepted');
    return { kind: 'answer', answer: value as A };
  }

  #noteRefusal(reply: Reply<never>): Reply<never> {
    if (this.#onCertificate === undefined || reply.kind !== 'refused' || !isCertificateRefusal(reply.code))
      return reply;
    this.#onCertificate('refused');
    throw new LinkDown(reply.message);
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
/** The server is there and cannot answer now, or requires the client to wait for a moment. */
const TRANSIENT_STATUSES: readonly number[] = [408, 425, 429];

interface ProblemReply {
  readonly code?: unknown;
  readonly detail?: unknown;
  readonly holder?: unknown;
  readonly statement?: unknown;
}

function toErrorReply({ status, location, retryAfter }: HttpResponse, value: unknown): Reply<never> {
  const problem = (typeof value === 'object' && value !== null ? value : {}) as ProblemReply;
  if (status === MISDIRECTED) {
    const holder = typeof problem.holder === 'string' ? problem.holder : URL.parse(location ?? '')?.origin;
    return { kind: 'elsewhere', ...(holder !== undefined && { holder }), ...statementOf(problem) };
  }
  // An answer without a code is not from our server: a proxy's page, another program on the port.
  if (status < 400 || status >= 500 || TRANSIENT_STATUSES.includes(status) || typeof problem.code !== 'string')
    throw new LinkDown(`the server answered ${status}`, { retryAfterMs: retryAfterMsOf(retryAfter) });
  const message = typeof problem.detail === 'string' ? problem.detail : `The server answered ${status}.`;
  return { kind: 'refused', code: problem.code, message, ...statementOf(problem) };
}

/** In seconds; a date is not what our servers say. */
function retryAfterMsOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,4}$/.test(text) ? Number(text) * 1000 : undefined;
}

function statementOf({ statement }: ProblemReply): { readonly statement?: SignedText } {
  return isSigned(statement) ? { statement } : {};
}
