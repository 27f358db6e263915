// One connection to a daemon that speaks JSON-RPC: requests and their answers, probes when it is quiet, and an end with a reason.
// It never comes back; `ReconnectingConnection` makes a new one.
import type { Duplex } from 'node:stream';
import type { Clock } from '../../../journal/index.ts';
import { withTimeout } from './deadline.ts';
import {
  asError,
  ConnectionLost,
  toConnectionLost,
  MessageTooLarge,
  RequestRefused,
  RequestTimedOut,
  TooBusy,
} from './failures.ts';
import {
  type JsonRpcMessage,
  readMessage,
  writeResult,
  writeNotification,
  writeError,
  writeRequest,
} from './json-rpc.ts';
import { JsonStream } from './json-stream.ts';
import type { LiveConnection } from './reconnecting-connection-driver.ts';

/** Callers wait for their answers; whoever has this many open does not. */
const REQUESTS_OPEN_MAX = 4096;
/** Daemons send one echo request at a time. */
const ANSWERS_WAITING_MAX = 16;

export interface JsonRpcConnectionOptions {
  readonly clock: Clock;
  /** In both directions. */
  readonly messageBytesMax: number;
  /** When nothing was received for so long, the daemon is sent an echo request, and the connection is closed when no reply comes in that time. */
  readonly probeAfterMs?: number;
  readonly onNotification?: (method: string, params: readonly unknown[]) => void;
}

export interface RpcOptions {
  readonly timeoutMs: number;
  /** Cancels a request at the daemon when no caller waits for the answer any more. */
  readonly cancel?: boolean;
  /** Called before anything that comes after the answer is looked at. */
  readonly onAnswer?: (result: unknown) => void;
}

interface PendingRpc {
  readonly what: string;
  sent: boolean;
  readonly answer: (result: unknown) => void;
  readonly fail: (why: Error) => void;
}

export class JsonRpcConnection implements LiveConnection {
  readonly #stream: Duplex;
  readonly #options: JsonRpcConnectionOptions;
  readonly #incoming: JsonStream;
  readonly #pending = new Map<number, PendingRpc>();
  readonly #ended = new AbortController();
  readonly #closed = Promise.withResolvers<Error>();
  #lastId = 0;
  #messagesReceived = 0;
  /** Resolves when everything before was taken by the stream. */
  #sending: Promise<void> = Promise.resolve();
  #answersWaiting = 0;

  constructor(stream: Duplex, options: JsonRpcConnectionOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#incoming = new JsonStream(options.messageBytesMax);
    stream.on('data', (chunk: Uint8Array) => this.#read(chunk));
    stream.on('error', (cause: Error) => this.end(new ConnectionLost(cause.message, { cause })));
    stream.on('end', () => this.end(new ConnectionLost('the daemon closed the connection')));
    stream.on('close', () => this.end(new ConnectionLost('the connection was closed')));
    if (options.probeAfterMs !== undefined) void this.#probe(options.probeAfterMs);
  }

  /** Resolves when it has ended, with the reason. */
  get closed(): Promise<Error> {
    return this.#closed.promise;
  }

  /** Whether the daemon has said anything. */
  get hasReceived(): boolean {
    return this.#messagesReceived > 0;
  }

  end(why: Error): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort(why);
    this.#stream.destroy();
    for (const { what, sent, fail } of [...this.#pending.values()]) fail(toConnectionLost(what, why, sent));
    this.#pending.clear();
    this.#closed.resolve(why);
  }

  async request(method: string, params: readonly unknown[], options: RpcOptions): Promise<unknown> {
    if (this.#pending.size >= REQUESTS_OPEN_MAX) throw new TooBusy(`${REQUESTS_OPEN_MAX} requests wait for an answer`);
    this.#lastId += 1;
    const id = this.#lastId;
    const text = this.#checkSize(writeRequest(id, method, params));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const answer = (result: unknown): void => {
      options.onAnswer?.(result);
      resolve(result);
    };
    this.#pending.set(id, { what: method, sent: false, answer, fail: reject });
    this.#sendRequest(id, text);
    const { clock } = this.#options;
    const failure = (): Error => {
      if (options.cancel === true) this.notify('cancel', [id]);
      return new RequestTimedOut(`${method}: no answer within ${options.timeoutMs} ms`);
    };
    try {
      return await withTimeout(promise, { clock, timeoutMs: options.timeoutMs, failure });
    } finally {
      this.#pending.delete(id);
    }
  }

  notify(method: string, params: readonly unknown[]): void {
    const text = this.#checkSize(writeNotification(method, params));
    void this.#send(() => text);
  }

  #checkSize(text: string): string {
    const bytes = Buffer.byteLength(text);
    if (bytes <= this.#options.messageBytesMax) return text;
    throw new MessageTooLarge(`a request of ${bytes} bytes; the limit is ${this.#options.messageBytesMax}`);
  }

  #sendRequest(id: number, text: string): void {
    const request = this.#pending.get(id);
    if (this.#ended.signal.aborted) {
      request?.fail(toConnectionLost(request.what, this.#ended.signal.reason, false));
      return;
    }
    void this.#send(() => {
      // While it waited for its turn it may have been cancelled.
      if (request === undefined || !this.#pending.has(id)) return undefined;
      request.sent = true;
      return text;
    });
  }

  /** One after the other, and nothing more while the daemon does not read: what waits is ours, not the socket's. */
  #send(next: () => string | undefined): Promise<void> {
    this.#sending = this.#sendAfter(this.#sending, next);
    return this.#sending;
  }

  async #sendAfter(before: Promise<void>, next: () => string | undefined): Promise<void> {
    await before;
    if (this.#ended.signal.aborted) return;
    const text = next();
    if (text !== undefined && !this.#stream.write(text)) await this.#waitForDrain();
  }

  #waitForDrain(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const go = (): void => {
      this.#stream.off('drain', go);
      this.#ended.signal.removeEventListener('abort', go);
      resolve(undefined);
    };
    this.#stream.once('drain', go);
    this.#ended.signal.addEventListener('abort', go, { once: true });
    if (this.#ended.signal.aborted) go();
    return promise;
  }

  #read(chunk: Uint8Array): void {
    if (this.#ended.signal.aborted) return;
    this.#messagesReceived += 1;
    try {
      for (const message of this.#incoming.push(chunk)) {
        this.#take(readMessage(message));
        if (this.#ended.signal.aborted) return;
      }
    } catch (error) {
      // A listener that fails has not taken its notification: after a new connection it is called again.
      this.end(asError(error));
    }
  }

  #take(message: JsonRpcMessage): void {
    switch (message.kind) {
      case 'request':
        this.#answer(message);
        return;
      case 'notification':
        this.#options.onNotification?.(message.method, message.params);
        return;
      case 'answer':
        this.#openRequest(message.id)?.answer(message.result);
        return;
      case 'refusal': {
        const request = this.#openRequest(message.id);
        request?.fail(new RequestRefused(`${request.what}: ${show(message.error)}`, message.error));
      }
    }
  }

  /** Undefined for one that was cancelled before its answer came. */
  #openRequest(id: unknown): PendingRpc | undefined {
    return typeof id === 'number' ? this.#pending.get(id) : undefined;
  }

  /** A daemon that sends echo requests and reads no answers gets a few, not a queue of them. */
  #answer({ method, params, id }: JsonRpcMessage & { readonly kind: 'request' }): void {
    if (this.#answersWaiting >= ANSWERS_WAITING_MAX) return;
    this.#answersWaiting += 1;
    const text = method === 'echo' ? writeResult(id, params) : writeError(id, 'unknown method');
    void this.#send(() => text).finally(() => {
      this.#answersWaiting -= 1;
    });
  }

  async #probe(afterMs: number): Promise<void> {
    while (!this.#ended.signal.aborted) {
      const before = this.#messagesReceived;
      await this.#options.clock.sleep(afterMs, this.#ended.signal);
      if (this.#ended.signal.aborted || this.#messagesReceived !== before) continue;
      try {
        await this.request('echo', ['muster'], { timeoutMs: afterMs });
      } catch (cause) {
        // A long answer may be on its way: then the daemon lives.
        if (this.#messagesReceived === before) {
          this.end(new ConnectionLost(`the daemon said nothing for ${2 * afterMs} ms`, { cause }));
        }
      }
    }
  }
}

function show(error: unknown): string {
  return typeof error === 'string' ? error.trim() : JSON.stringify(error);
}
