// Stands between a client and the Kubernetes API, and can be away, slow, overloaded or lose answers. It speaks TLS by a certificate of its own and
// sends requests to the API as the user of its kubeconfig: a client is authenticated here by nothing but the token that the proxy's kubeconfig has.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, RequestOptions, ServerResponse } from 'node:http';
import { Agent, createServer, request as httpsRequest, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { selfSigned } from '../self-signed.ts';
import { type KubeAccess, kubeconfigOf, readKubeconfig } from './kubeconfig.ts';

export interface ProxiedCall {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Of the answer that the API gave, or the proxy in its place; undefined while there is none. */
  status?: number;
}

/** How often the eviction of each pod was accepted. */
export function countEvictions(calls: readonly ProxiedCall[]): number[] {
  const accepted = calls.filter(({ path, status }) => path.endsWith('/eviction') && status === 201);
  return [...Map.groupBy(accepted, ({ path }) => path).values()].map(({ length }) => length);
}

/** What becomes of a call: it passes; it never reaches the API; it is carried out and its answer lost; the proxy answers in the API's place. */
export type ProxyFate =
  | 'pass'
  | 'cut'
  | 'lose-answer'
  | { readonly status: number; readonly message?: string; readonly headers?: Readonly<Record<string, string>> };

export class ApiProxy {
  /** In the order of their arrival. */
  readonly calls: ProxiedCall[] = [];
  decide: (call: ProxiedCall) => ProxyFate = () => 'pass';
  /** What each call waits for before it is passed on. */
  delay: (call: ProxiedCall) => Promise<void> = async () => {};
  readonly kubeconfig: string;
  readonly #upstream: KubeAccess;
  readonly #token: string;
  readonly #agent: Agent;
  readonly #server: Server;
  readonly #port: number;
  readonly #sockets = new Set<Duplex>();
  /** Answers on their way, watches among them. */
  readonly #open = new Set<Passing>();
  #isSilent = false;

  private constructor(upstream: KubeAccess, tls: { key: string; cert: string }, server: Server) {
    this.#upstream = upstream;
    this.#token = randomBytes(16).toString('hex');
    const { ca, user, skipsVerification } = upstream;
    const rejectUnauthorized = skipsVerification !== true;
    this.#agent = new Agent({ keepAlive: true, ca, cert: user.certificate, key: user.key, rejectUnauthorized });
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    this.kubeconfig = kubeconfigOf({
      endpoint: `https://127.0.0.1:${this.#port}`,
      ca: tls.cert,
      user: { token: this.#token },
    });
    server.on('connection', (socket) => this.#keep(socket));
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#take(request, response).catch(() => response.destroy());
    });
  }

  /** In front of the API that the kubeconfig names. */
  static async start(kubeconfig: string): Promise<ApiProxy> {
    const tls = await selfSigned();
    const server = createServer(tls);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ApiProxy(readKubeconfig(kubeconfig), tls, server);
  }

  /** The API is away: what is open breaks, and nothing new connects. */
  cut(): void {
    this.#server.close();
    this.#destroyAll();
  }

  /** Nothing is refused and nothing answered, and watches bring nothing more. */
  silence(): void {
    this.#isSilent = true;
    for (const { answered, response } of this.#open) answered.unpipe(response).pause();
  }

  /** What was cut or silent meanwhile stays lost. */
  async restore(): Promise<void> {
    if (this.#isSilent) this.#destroyAll();
    this.#isSilent = false;
    if (this.#server.listening) return;
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.cut();
    await closed;
  }

  #keep(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }

  #destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call: ProxiedCall = { method: request.method ?? '', path: request.url ?? '' };
    this.calls.push(call);
    if (this.#isSilent) return;
    if (request.headers.authorization !== `Bearer ${this.#token}`) return answer(response, call, { status: 401 });
    const fate = this.decide(call);
    if (fate === 'cut') return void response.destroy();
    if (typeof fate === 'object') return answer(response, call, fate);
    await this.delay(call);
    await this.#pass({ request, response, call, losesAnswer: fate === 'lose-answer' });
  }

  async #pass({ request, response, call, losesAnswer }: Passage): Promise<void> {
    const { endpoint, user } = this.#upstream;
    const { authorization: _, host: __, ...headers } = request.headers;
    const options: RequestOptions = {
      method: call.method,
      agent: this.#agent,
      headers: { ...headers, ...(user.token !== undefined && { authorization: `Bearer ${user.token}` }) },
    };
    const passed = httpsRequest(`${endpoint}${call.path}`, options);
    passed.on('error', () => response.destroy());
    // A watch that its client has left is left here too.
    response.on('close', () => passed.destroy());
    request.pipe(passed);
    const [answered] = (await once(passed, 'response')) as [IncomingMessage];
    call.status = answered.statusCode ?? 0;
    if (losesAnswer) return void response.destroy();
    if (this.#isSilent) return;
    const passing = { answered, response };
    this.#open.add(passing);
    response.on('close', () => this.#open.delete(passing));
    answered.on('error', () => response.destroy());
    response.writeHead(call.status, answered.headers);
    // A watch says nothing until something happens.
    response.flushHeaders();
    answered.pipe(response);
  }
}

interface Passing {
  readonly answered: IncomingMessage;
  readonly response: ServerResponse;
}

interface Passage {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly call: ProxiedCall;
  readonly losesAnswer: boolean;
}

/** In the form of the API's own refusals. */
function answer(response: ServerResponse, call: ProxiedCall, fate: Exclude<ProxyFate, string>): void {
  call.status = fate.status;
  const { status, message = 'said the proxy', headers = {} } = fate;
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status, message }));
}
