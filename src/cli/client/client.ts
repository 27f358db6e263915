// The HTTP client of the command line. Every write carries an Idempotency-Key, so a write whose answer was lost is retried without
// harm; an answer of 503 (no lease holder for a moment) or 429 is retried, too.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../api/index.ts';
import { isListOfObjects, notMusterFailure, parseObject, readText } from './answer-body.ts';
import { EXIT, CommandFailure } from '../exit-code.ts';
import { problemIn, ApiRefusal, describeError, unreachableFailure } from './problem.ts';

export interface ClientOptions {
  readonly server: string;
  readonly token: string | undefined;
  /** What to do about a token that is missing. */
  readonly tokenAdvice?: () => string;
  /** For one request with all its retries. */
  readonly timeoutMs: number;
  readonly userAgent: string;
  /** Called for every request in verbose mode. */
  readonly trace?: (line: string) => void;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ApiRequest {
  readonly query?: Query;
  readonly body?: unknown;
  /** A body in lines, made anew for each try. */
  readonly lines?: () => AsyncIterable<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Tries after a cut connection. The request's own time is the other bound. */
const LOST_ANSWERS_MAX = 3;
const LOST_ANSWER_BACKOFF = { firstMs: 200, longestMs: 800 };
const RETRY_AFTER_DEFAULT_MS = 1000;
const RETRY_AFTER_MAX_MS = 10_000;
/** Lower bound, whatever Retry-After says. */
const RETRY_AFTER_MIN_MS = 100;
const PAGE_LIMIT = 1000;

interface RawAnswer {
  readonly response: Response;
  readonly text: string;
}

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly next?: string;
  readonly revision?: number;
}

export class Client {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get server(): string {
    return this.#options.server;
  }

  get<T>(path: string, query: Query = {}): Promise<T> {
    return this.#json('GET', path, { query });
  }

  /** What is there; undefined when it is not. */
  async find<T>(path: string): Promise<T | undefined> {
    try {
      return await this.get<T>(path);
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 404) return undefined;
      throw error;
    }
  }

  write<T>(method: Exclude<Method, 'GET'>, path: string, options: ApiRequest = {}): Promise<T> {
    return this.#json(method, path, options);
  }

  /** Sends a body in lines as it is read. A try that broke is repeated whole: that completes what the server has begun. */
  async sendLines<T>(
    path: string,
    { lines, signal, timeoutMs }: Required<Pick<ApiRequest, 'lines' | 'signal'>> & { readonly timeoutMs: number },
  ): Promise<T> {
    const { response, text } = await this.#retry(Date.now() + timeoutMs, 'POST', async (late) => {
      const answered = await this.#fetch('POST', path, { lines, signal: AbortSignal.any([late, signal]) });
      return { response: answered, text: await readText(answered, this.server) };
    });
    if (!response.ok) throw this.#toRefusal(response, text);
    return parseObject(text, this.server) as T;
  }

  /** Every item of a list, page by page, up to `limit`. */
  async list<T>(path: string, query: Query = {}, limit = Infinity): Promise<T[]> {
    const items: T[] = [];
    for await (const page of this.pages<T>(path, query, limit)) for (const item of page) items.push(item);
    return items;
  }

  /** The same page by page; the next page is fetched while one is consumed. */
  async *pages<T>(path: string, query: Query = {}, limit = Infinity): AsyncGenerator<readonly T[], void> {
    let left = limit;
    const fetchPage = (after?: string): Promise<ListPage<T>> => {
      const page = this.get<ListPage<T>>(path, { ...query, after, limit: Math.min(PAGE_LIMIT, left) });
      // A consumer that stops early never awaits it.
      page.catch(() => undefined);
      return page;
    };
    let before: string | undefined;
    for (let page: Promise<ListPage<T>> | undefined = fetchPage(); page !== undefined;) {
      const { items, next }: ListPage<T> = await page;
      if (!isListOfObjects(items)) throw notMusterFailure(this.server, 'a page that holds no list');
      left -= items.length;
      const hasTimeForRetry: boolean = next !== undefined && left > 0;
      if (hasTimeForRetry && next === before) throw notMusterFailure(this.server, 'pages that lead back to themselves');
      before = next;
      page = hasTimeForRetry ? fetchPage(next) : undefined;
      yield items;
    }
  }

  /** A streamed answer. The timeout covers connecting, not reading. */
  async stream(path: string, { query = {}, headers = {}, signal }: ApiRequest): Promise<ReadableStream<Uint8Array>> {
    const over = new AbortController();
    const stop = (): void => over.abort(signal?.reason);
    signal?.addEventListener('abort', stop, { once: true });
    const late = setTimeout(() => over.abort(new DOMException('late', 'TimeoutError')), this.#options.timeoutMs);
    try {
      const response = await this.#fetch('GET', path, { query, headers, signal: over.signal });
      if (!response.ok || response.body === null)
        throw this.#toRefusal(response, await readText(response, this.server));
      return response.body;
    } finally {
      clearTimeout(late);
    }
  }

  async #json<T>(method: Method, path: string, options: ApiRequest): Promise<T> {
    const key = method === 'GET' ? {} : { 'idempotency-key': randomUUID() };
    const until = Date.now() + this.#options.timeoutMs;
    const { response, text } = await this.#retry(until, method, async (signal) => {
      const answered = await this.#fetch(method, path, { ...options, headers: { ...key, ...options.headers }, signal });
      // Read here: an answer that breaks off is a lost one, too.
      return { response: answered, text: await readText(answered, this.server) };
    });
    if (!response.ok) throw this.#toRefusal(response, text);
    return (response.status === 204 ? undefined : parseObject(text, this.server)) as T;
  }

  /** Retries on 503 and 429 and after a lost answer, within the timeout. */
  async #retry(until: number, method: Method, send: (signal: AbortSignal) => Promise<RawAnswer>): Promise<RawAnswer> {
    for (let lost = 0; ;) {
      let waitMs: number;
      try {
        const answered = await send(AbortSignal.timeout(Math.max(1, until - Date.now())));
        const { response } = answered;
        if (response.status !== 503 && response.status !== 429) return answered;
        waitMs = retryAfterMs(response);
        if (Date.now() + waitMs >= until) return answered;
      } catch (error) {
        lost += 1;
        const mayBeLost = isLostAnswer(error) && lost <= LOST_ANSWERS_MAX && Date.now() < until;
        if (!mayBeLost) throw this.#unreachable(error, method);
        waitMs = backoffMs(LOST_ANSWER_BACKOFF, lost);
      }
      await sleep(waitMs);
    }
  }

  #unreachable(error: unknown, method: Method): unknown {
    if (error instanceof CommandFailure) return error;
    if (error instanceof Error && error.name === 'TimeoutError') {
      const done = method === 'GET' ? '' : ' It may have been carried out all the same: look before you repeat it.';
      const message = `The server at ${this.server} did not answer within ${this.#options.timeoutMs / 1000} s. Give it longer with --request-timeout.${done}`;
      return new CommandFailure(EXIT.unreachable, message, { cause: error });
    }
    return unreachableFailure(this.server, error);
  }

  #toRefusal({ status }: Response, text: string): ApiRefusal {
    const { token, tokenAdvice } = this.#options;
    return new ApiRefusal(status, problemIn(text), token === undefined ? tokenAdvice?.() : undefined);
  }

  async #fetch(method: Method, path: string, options: ApiRequest): Promise<Response> {
    const { token, userAgent, trace } = this.#options;
    const url = new URL(path, this.server);
    for (const [name, value] of Object.entries(options.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const startedMs = performance.now();
    const response = await fetch(url, {
      method,
      headers: {
        accept: 'application/json',
        'user-agent': userAgent,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(options.body !== undefined && { 'content-type': 'application/json' }),
        ...(options.lines !== undefined && { 'content-type': 'application/x-ndjson' }),
        ...options.headers,
      },
      ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
      ...(options.lines !== undefined && { body: options.lines(), duplex: 'half' }),
      ...(options.signal !== undefined && { signal: options.signal }),
      // A token is for the server that was named, not for wherever it points.
      redirect: 'manual',
    }).catch((error: unknown) => {
      trace?.(`${method} ${url.pathname}${url.search}: ${describeError(error)}`);
      throw error;
    });
    const tookMs = Math.round(performance.now() - startedMs);
    const id = response.headers.get('x-request-id') ?? '-';
    trace?.(`${method} ${url.pathname}${url.search}: ${response.status} in ${tookMs} ms, request ${id}`);
    return response;
  }
}

/** The connection was there and broke: the request may have been carried out. */
function isLostAnswer(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = (error.cause ?? error) as { readonly code?: unknown };
  return code === 'ECONNRESET' || code === 'UND_ERR_SOCKET' || code === 'EPIPE';
}

function retryAfterMs(response: Response): number {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  if (!Number.isFinite(seconds)) return RETRY_AFTER_DEFAULT_MS;
  return Math.max(RETRY_AFTER_MIN_MS, Math.min(seconds * 1000, RETRY_AFTER_MAX_MS));
}
