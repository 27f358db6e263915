// One HTTP request to a server, over kept connections. Whatever keeps an answer from coming is a `LinkDown`.
import type { Agent as HttpAgent, ClientRequest, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { lookup } from 'node:dns';
import { isLoopback } from './loopback.ts';
import { http } from './node-http.ts';
import { PinningHttpsAgent } from './pinning-https-agent.ts';
import { LinkDown, type KeyPair } from './call.ts';
import type { Fingerprint } from './server-pin.ts';

/** More than any view: each document is at most 64 KiB. An answer beyond it is not from our server. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** Where a server answers. */
export interface Origin {
  readonly isSecure: boolean;
  readonly hostname: string;
  readonly port: string;
}

export interface HttpRequest {
  readonly origin: Origin;
  /** With what is requested. */
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly secret: string;
  /** The media type that is requested; the server's usual one when nothing is said. */
  readonly accept?: string | undefined;
  readonly body?: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly location: string | undefined;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

export interface HttpConnectionsOptions {
  /** Certificates in PEM that servers are trusted by, instead of the system's. */
  readonly ca?: string | undefined;
  /** Fingerprints that servers are known by. */
  readonly pins?: readonly Fingerprint[] | undefined;
  /** Plain HTTP goes to this machine only, whatever a name resolves to. */
  readonly loopbackOnly?: boolean;
  /** Resolves host names; the system's resolver when nothing is said. */
  readonly lookup?: LookupFunction;
}

/**
 * As many as were in use at once: when ten thousand polls end in one second, closing most of their connections and opening them
 * again costs more than everything else together. The server closes those that stay idle.
 */
const KEEP_ALIVE = { keepAlive: true, maxFreeSockets: Infinity };

export class HttpConnections {
  readonly #http: HttpAgent;
  readonly #options: HttpConnectionsOptions;
  #https: HttpsAgent;

  constructor(options: HttpConnectionsOptions = {}) {
    this.#options = options;
    const resolve = options.lookup ?? lookup;
    this.#http = new http.Agent({
      ...KEEP_ALIVE,
      lookup: options.loopbackOnly === true ? onlyLoopback(resolve) : resolve,
    });
    this.#https = this.#newHttps(undefined);
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  /** Connections that are in use finish what they are at and are closed then: they show what was presented before. */
  present(pair: KeyPair | undefined): void {
    const before = this.#https;
    this.#https = this.#newHttps(pair);
    before.maxFreeSockets = 0;
    for (const idle of Object.values(before.freeSockets).flat()) idle?.destroy();
  }

  #newHttps(pair: KeyPair | undefined): HttpsAgent {
    const { ca, pins } = this.#options;
    const options = {
      ...KEEP_ALIVE,
      ...(ca !== undefined && { ca }),
      ...(pair !== undefined && { cert: pair.certificate, key: pair.key }),
    };
    return pins === undefined || pins.length === 0 ? new HttpsAgent(options) : new PinningHttpsAgent(options, pins);
  }

  async send(request: HttpRequest): Promise<HttpResponse> {
    try {
      return await this.#sendOnce(request);
    } catch (error) {
      // A kept connection that the server closed just now carried nothing, and every call may be repeated.
      if (!(error instanceof StaleConnection) || request.signal?.aborted === true) throw error;
      return this.#sendOnce(request);
    }
  }

  #sendOnce(request: HttpRequest): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const sent = this.#open(request);
      const failWith = (why: string) => (): void => void sent.destroy(new LinkDown(why));
      const stop = failWith('the caller stops');
      const timer = setTimeout(failWith('the server did not answer in time'), request.timeoutMs);
      const end = (): void => {
        clearTimeout(timer);
        request.signal?.removeEventListener('abort', stop);
      };
      request.signal?.addEventListener('abort', stop);
      if (request.signal?.aborted === true) stop();
      sent.once('error', (error) => {
        end();
        reject(toConnectionError(error, sent));
      });
      sent.once('response', (answer) => {
        readResponse(answer)
          .finally(end)
          .then(resolve, (error: unknown) => reject(asLinkDown(error)));
      });
      sent.end(request.body);
    });
  }

  #open({ origin: { isSecure, hostname, port }, path, method, secret, accept, body }: HttpRequest): ClientRequest {
    const headers = {
      authorization: `Bearer ${secret}`,
      ...(accept !== undefined && { accept }),
      ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    const to = { hostname, port, path, method, headers };
    return isSecure ? httpsRequest({ ...to, agent: this.#https }) : http.request({ ...to, agent: this.#http });
  }
}

/** `localhost` is a name as well: a resolver that leads it elsewhere gets no secret. */
function onlyLoopback(resolve: LookupFunction): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, options, (error, address, family) => {
      const all = typeof address === 'string' ? [address] : (address ?? []).map((one) => one.address);
      const away = all.find((one) => !isLoopback(one));
      if (error !== null || away === undefined) done(error, address, family);
      else done(new LinkDown(`${hostname} resolves to ${away}, which is another machine`), address, family);
    });
  };
}

class StaleConnection extends LinkDown {}

function toConnectionError(error: Error, sent: ClientRequest): LinkDown {
  const lost = sent.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
  return lost ? new StaleConnection(error.message, { cause: error }) : asLinkDown(error);
}

function asLinkDown(error: unknown): LinkDown {
  if (error instanceof LinkDown) return error;
  return new LinkDown(error instanceof Error ? error.message : String(error), { cause: error });
}

async function readResponse(answer: IncomingMessage): Promise<HttpResponse> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new LinkDown('the answer is too large to be from our server');
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const { location, 'retry-after': retryAfter } = answer.headers;
  return { status: answer.statusCode ?? 0, location, retryAfter, text };
}
