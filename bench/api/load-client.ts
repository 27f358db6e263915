// A process that sends requests: a number of kept connections, on each of them one request at a time. It speaks just enough HTTP
// to be cheaper than any server, so that what is measured is the server.
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';

export interface LoadJob {
  readonly port: number;
  readonly method: 'GET' | 'PATCH' | 'POST';
  readonly hosts: readonly string[];
  /** Requests this again and again, instead of hosts. */
  readonly post?: { readonly path: string; readonly body: string };
  /** Sends each of these once, instead of requesting hosts. */
  readonly requests?: NumberedRequests;
  /** One for each connection. */
  readonly secrets: readonly string[];
  /** Without effect on numbered requests, of which each is sent. */
  readonly forMs: number;
  /** Between an answer and the next request on a connection; 0 for as fast as it goes. */
  readonly pauseMs?: number;
}

/** Requests that differ in their number, which stands for `{n}` in path and body. */
export interface NumberedRequests {
  readonly method: 'DELETE' | 'GET' | 'POST';
  readonly path: string;
  /** The nth request sends the nth of them, over and over; none is sent when there is none. */
  readonly bodies: readonly string[];
  readonly first: number;
  readonly count: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** Of the numbered requests: which number is next, for all connections. */
interface Progress {
  next: number;
}

class LoadConnection {
  readonly latencies: number[] = [];
  readonly #job: LoadJob;
  readonly #socket: Socket;
  readonly #secret: string;
  readonly #progress: Progress;
  #at: number;
  #round = 0;
  #received: Buffer = Buffer.alloc(0);
  #requestedMs = 0;
  #untilMs = 0;
  #done: (() => void) | undefined;
  #failed: ((error: Error) => void) | undefined;

  constructor(job: LoadJob, progress: Progress, socket: Socket, nth: number) {
    this.#job = job;
    this.#progress = progress;
    this.#socket = socket;
    this.#secret = job.secrets[nth] ?? '';
    this.#at = nth;
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', (error) => this.#failed?.(error));
    socket.on('close', () => this.#failed?.(new Error('the server closed a connection')));
  }

  run(untilMs: number): Promise<void> {
    this.#untilMs = untilMs;
    return new Promise((resolve, reject) => {
      this.#done = resolve;
      this.#failed = reject;
      this.#sendNext();
    });
  }

  #sendNext(): void {
    const { post, requests } = this.#job;
    this.#requestedMs = performance.now();
    if (requests !== undefined) this.#sendNumbered(requests);
    else if (post === undefined) this.#sendHostRequest();
    else this.#socket.write(`${this.#head('POST', post.path)}${withBody(post.body)}`, 'latin1');
  }

  #sendNumbered({ method, path, bodies, first, count }: NumberedRequests): void {
    const n = this.#progress.next;
    if (n >= first + count) return this.#finish();
    this.#progress.next += 1;
    const body = bodies[n % bodies.length]?.replaceAll('{n}', `${n}`);
    const rest = body === undefined ? '\r\n' : withBody(body);
    this.#socket.write(`${this.#head(method, path.replace('{n}', `${n}`))}${rest}`, 'latin1');
  }

  #head(method: LoadJob['method'] | NumberedRequests['method'], path: string): string {
    return `${method} ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${this.#secret}\r\n`;
  }

  #sendHostRequest(): void {
    const { method, hosts, secrets } = this.#job;
    const host = hosts[this.#at % hosts.length]!;
    if (this.#at >= hosts.length) this.#round += 1;
    this.#at = (this.#at % hosts.length) + secrets.length;
    // Another weight each time: a change that changes nothing would not be committed.
    const rest = method === 'GET' ? '\r\n' : withBody(`{"baseWeight":${(this.#round % 900) + 1}}`);
    this.#socket.write(`${this.#head(method, `/api/v1/hosts/${host}`)}${rest}`, 'latin1');
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const head = this.#received.toString('latin1', 0, headEnd);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    if (this.#received.length < headEnd + HEAD_END.length + length) return;
    if (!head.startsWith('HTTP/1.1 20')) {
      this.#failed?.(new Error(`the server answered ${this.#received.toString('utf8')}`));
      return;
    }
    this.#received = Buffer.alloc(0);
    const nowMs = performance.now();
    this.latencies.push(nowMs - this.#requestedMs);
    const { pauseMs = 0, requests } = this.#job;
    if (requests === undefined && nowMs >= this.#untilMs) this.#finish();
    else if (pauseMs === 0) this.#sendNext();
    // Spread, or all connections would send in the same moment.
    else setTimeout(() => this.#sendNext(), pauseMs * (0.5 + Math.random()));
  }

  #finish(): void {
    this.#failed = undefined;
    this.#socket.end();
    this.#done?.();
  }
}

function withBody(body: string): string {
  return `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

async function run(job: LoadJob): Promise<LoadResult> {
  const progress: Progress = { next: job.requests?.first ?? 0 };
  const clients = await Promise.all(
    job.secrets.map(async (_, nth) => {
      const socket = connect({ port: job.port, host: '127.0.0.1', noDelay: true });
      await once(socket, 'connect');
      return new LoadConnection(job, progress, socket, nth);
    }),
  );
  const startedMs = performance.now();
  await Promise.all(clients.map((client) => client.run(startedMs + job.forMs)));
  const seconds = (performance.now() - startedMs) / 1000;
  const sorted = Float64Array.from(clients.flatMap(({ latencies }) => latencies)).sort();
  const quantile = (q: number): number => sorted[Math.floor((sorted.length - 1) * q)] ?? NaN;
  return { requests: sorted.length, perSecond: sorted.length / seconds, p50Ms: quantile(0.5), p99Ms: quantile(0.99) };
}

process.on('message', (job: LoadJob) => {
  run(job).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ failed: String(error) }),
  );
});
// Whoever started it is gone.
process.on('disconnect', () => process.exit());
