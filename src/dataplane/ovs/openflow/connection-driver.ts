// One connection to a switch that speaks OpenFlow 1.4: the greeting, requests and their answers, signs of life, and an end with a
// reason. It never comes back; the client makes a new one.
import type { Duplex } from 'node:stream';
import type { Clock } from '../../../journal/index.ts';
import { withTimeout } from '../transport/deadline.ts';
import { ClientClosed, ConnectionLost, RequestTimedOut, toConnectionLost } from '../transport/failures.ts';
import type { LiveConnection } from '../transport/reconnecting-connection-driver.ts';
import type { Dial } from '../transport/socket-driver.ts';
import { hasCommonVersion } from './replies.ts';
import { BytesWriter } from './bytes-writer.ts';
import { errorName } from './error-codec.ts';
import { MESSAGE, VERSION } from './message-codes.ts';
import { MessageFramer, type OpenFlowMessage } from './message-frame.ts';
import { putEcho, putHello } from './requests.ts';
import { ProtocolError, RefusedBySwitch } from './errors.ts';

export interface OpenFlowConnectionOptions {
  readonly clock: Clock;
  /** When nothing was received for so long, the switch is sent an echo request, and the connection is closed when no reply comes in that time. */
  readonly probeAfterMs: number;
  /** Messages that are no reply to a request. */
  readonly onMessage: (message: OpenFlowMessage) => void;
}

/** A caller that waits for messages with one number. */
interface PendingReply {
  readonly what: string;
  readonly take: (message: OpenFlowMessage) => void;
  readonly fail: (why: Error) => void;
}

/** Messages with numbers in a row, of which each may be refused by itself. */
export interface SentBatch {
  readonly first: number;
  readonly count: number;
  readonly onRefused: (nth: number, error: string) => void;
}

export interface ExpectedReply<T> {
  readonly what: string;
  readonly timeoutMs: number;
  /** Undefined while there is more to come. */
  readonly take: (message: OpenFlowMessage) => T | undefined;
  readonly xid: number;
}

export interface OpenFlowRequest<T> extends Omit<ExpectedReply<T>, 'xid'> {
  readonly put: (writer: BytesWriter, xid: number) => void;
}

const XID_MAX = 0xffff_ffff;

export class OpenFlowConnection implements LiveConnection {
  readonly #stream: Duplex;
  readonly #options: OpenFlowConnectionOptions;
  readonly #cutter = new MessageFramer();
  readonly #pending = new Map<number, PendingReply>();
  readonly #sent = new Set<SentBatch>();
  readonly #ended = new AbortController();
  readonly #closed = Promise.withResolvers<Error>();
  readonly #handshake = Promise.withResolvers<undefined>();
  #isGreeted = false;
  #nextXid = 1;
  #messagesReceived = 0;

  constructor(stream: Duplex, options: OpenFlowConnectionOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#handshake.promise.catch(() => {});
    stream.on('data', (chunk: Uint8Array) => this.#read(chunk));
    stream.on('error', (cause: Error) => this.end(new ConnectionLost(cause.message, { cause })));
    stream.on('end', () => this.end(new ConnectionLost('the switch closed the connection')));
    stream.on('close', () => this.end(new ConnectionLost('the connection was closed')));
    this.send((writer, xid) => putHello(writer, xid));
    void this.#probe();
  }

  /** Resolves when it has ended, with the reason. */
  get closed(): Promise<Error> {
    return this.#closed.promise;
  }

  /** Resolves when the switch has said that it speaks 1.4 too. */
  get handshake(): Promise<undefined> {
    return this.#handshake.promise;
  }

  end(why: Error): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort(why);
    this.#stream.destroy();
    this.#handshake.reject(why);
    for (const { what, fail } of [...this.#pending.values()]) fail(toConnectionLost(what, why, true));
    this.#pending.clear();
    this.#closed.resolve(why);
  }

  /** The first of this many numbers in a row. */
  xids(count = 1): number {
    if (this.#nextXid + count > XID_MAX) this.#nextXid = 1;
    const first = this.#nextXid;
    this.#nextXid += count;
    return first;
  }

  send(put: (writer: BytesWriter, xid: number) => void): void {
    const writer = new BytesWriter(256);
    put(writer, this.xids());
    this.#stream.write(writer.bytes.subarray(0, writer.length));
  }

  /** Resolves when the kernel has the bytes, which is when the switch reads on. They belong to the socket until then. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#check();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const go = (): void => resolve(undefined);
    this.#ended.signal.addEventListener('abort', go, { once: true });
    this.#stream.write(bytes, go);
    await promise;
    this.#ended.signal.removeEventListener('abort', go);
    this.#check();
  }

  /** Calls `onRefused` for what is refused, until the returned function is called. */
  watch(sent: SentBatch): () => void {
    this.#sent.add(sent);
    return () => this.#sent.delete(sent);
  }

  /** Waits for the answer to a message that another caller writes. */
  async awaitReply<T>({ what, timeoutMs, take, xid }: ExpectedReply<T>): Promise<T> {
    this.#check();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const resolveWith = (message: OpenFlowMessage): void => {
      const answer = take(message);
      if (answer !== undefined) resolve(answer);
    };
    this.#pending.set(xid, { what, take: resolveWith, fail: reject });
    // A switch that does not answer in time is disconnected: what it has done is unknown.
    const failure = (): Error => {
      const late = new RequestTimedOut(`${what}: the switch did not answer within ${timeoutMs} ms`);
      this.#pending.delete(xid);
      this.end(new ConnectionLost(late.message, { cause: late }));
      return late;
    };
    try {
      return await withTimeout(promise, { clock: this.#options.clock, timeoutMs, failure });
    } finally {
      this.#pending.delete(xid);
    }
  }

  async request<T>(wanted: OpenFlowRequest<T>): Promise<T> {
    this.#check();
    const xid = this.xids();
    const writer = new BytesWriter(256);
    wanted.put(writer, xid);
    const answer = this.awaitReply({ ...wanted, xid });
    this.#stream.write(writer.bytes.subarray(0, writer.length));
    return answer;
  }

  #check(): void {
    if (this.#ended.signal.aborted) throw toConnectionLost('not sent', this.#ended.signal.reason, true);
  }

  #read(chunk: Uint8Array): void {
    if (this.#ended.signal.aborted) return;
    this.#messagesReceived += 1;
    try {
      for (const message of this.#cutter.push(chunk)) {
        this.#take(message);
        if (this.#ended.signal.aborted) return;
      }
    } catch (error) {
      this.end(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #take(message: OpenFlowMessage): void {
    if (!this.#isGreeted) return this.#greet(message);
    if (message.version !== VERSION) throw new ProtocolError(`a message of version ${message.version}`);
    if (message.type === MESSAGE.echoRequest) {
      this.#stream.write(echoOf(message));
      return;
    }
    if (message.type === MESSAGE.error) return this.#onError(message.xid, errorName(message.body));
    const waiter = this.#pending.get(message.xid);
    // What a switch sends by itself has the number 0, or any.
    if (waiter === undefined || message.type === MESSAGE.packetIn) this.#options.onMessage(message);
    else waiter.take(message);
  }

  #greet({ type, version, body }: OpenFlowMessage): void {
    const speaks = type === MESSAGE.hello && hasCommonVersion(version, body);
    if (!speaks) throw new ConnectionLost(NO_COMMON_VERSION);
    this.#isGreeted = true;
    this.#handshake.resolve(undefined);
  }

  #onError(xid: number, error: string): void {
    const waiter = this.#pending.get(xid);
    if (waiter !== undefined) waiter.fail(new RefusedBySwitch(error, waiter.what));
    for (const { first, count, onRefused } of this.#sent) {
      if (xid >= first && xid < first + count) onRefused(xid - first, error);
    }
  }

  async #probe(): Promise<void> {
    const { clock, probeAfterMs } = this.#options;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      const before = this.#messagesReceived;
      await clock.sleep(probeAfterMs, signal);
      // Who waits for an answer has a deadline of his own: a switch with much to do is not a dead one.
      if (signal.aborted || this.#messagesReceived !== before || this.#pending.size > 0) continue;
      this.send((writer, xid) => putEcho(writer, xid));
      await clock.sleep(probeAfterMs, signal);
      if (!signal.aborted && this.#messagesReceived === before) {
        this.end(new ConnectionLost(`the switch said nothing for ${2 * probeAfterMs} ms`));
      }
    }
  }
}

const NO_COMMON_VERSION =
  'the bridge does not speak OpenFlow 1.4: its column "protocols" has to be empty or to have OpenFlow14';

function echoOf({ xid, body }: OpenFlowMessage): Uint8Array {
  const writer = new BytesWriter(64);
  putEcho(writer, xid, body.rest());
  return writer.bytes.subarray(0, writer.length);
}

/** Dials, and waits until the switch has greeted. */
export async function connectOpenFlow(
  dial: Dial,
  signal: AbortSignal,
  options: OpenFlowConnectionOptions,
): Promise<OpenFlowConnection> {
  const connection = new OpenFlowConnection(await dial(signal), options);
  const abort = (): void => connection.end(new ClientClosed());
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    await connection.handshake;
  } finally {
    signal.removeEventListener('abort', abort);
  }
  return connection;
}
