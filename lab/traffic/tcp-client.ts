// The client end of TCP traffic: a long upload or download at an even rate.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Arrivals } from './arrivals.ts';
import { runPaced } from './paced-timer.ts';
import type { ClientResult, TcpFlow } from './messages.ts';
import type { RunningFlow } from './udp-client.ts';

const CONNECT_PATIENCE_MS = 20_000;
/** A connection that is alive has brought everything over by then, after several repetitions if need be. */
const END_PATIENCE_MS = 10_000;

export class TcpConnection implements RunningFlow {
  readonly #flow: TcpFlow;
  readonly #arrivals = new Arrivals();
  readonly #stopped = new AbortController();
  #socket: Socket | undefined;
  #sent = 0;
  #received = 0;
  #failure: string | undefined;
  #began = false;
  #ended = false;

  constructor(flow: TcpFlow) {
    this.#flow = flow;
  }

  async prepare(): Promise<void> {
    const { address: host, port, sourcePort } = this.#flow;
    const socket = connect({
      host,
      port,
      noDelay: true,
      allowHalfOpen: true,
      ...(sourcePort && { localPort: sourcePort }),
    });
    this.#socket = socket;
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_PATIENCE_MS) });
    socket.on('error', (error) => {
      this.#failure ??= error.message;
    });
    socket.on('data', (bytes: Buffer) => {
      this.#received += bytes.length;
      this.#arrivals.addTime(performance.now());
    });
    socket.on('end', () => {
      this.#ended = true;
      if (!this.#stopped.signal.aborted) this.#failure ??= 'ended by the other side';
    });
  }

  begin(): void {
    const { kind, everyMs, bytes } = this.#flow;
    this.#began = true;
    this.#socket?.write(`${JSON.stringify(this.#flow)}\n`);
    if (kind === 'download') return;
    runPaced(everyMs, this.#stopped.signal, () => {
      this.#sent += bytes;
      this.#socket?.write(Buffer.alloc(bytes));
    });
  }

  /** Says that it is done, and waits until the other end has said so too: then everything has arrived. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    const socket = this.#socket;
    if (socket === undefined || !this.#began || this.#failure !== undefined || this.#ended) return;
    const over = AbortSignal.timeout(END_PATIENCE_MS);
    const ended = once(socket, 'end', { signal: over }).catch(() => {
      this.#failure ??= `did not come to its end in ${END_PATIENCE_MS} ms`;
    });
    socket.end();
    await ended;
  }

  close(): readonly ClientResult[] {
    this.#socket?.destroy();
    const { flow, kind, everyMs } = this.#flow;
    return [
      {
        flow,
        kind,
        everyMs,
        ...this.#arrivals.stats,
        sent: this.#sent,
        receivedBytes: this.#received,
        ...(this.#failure !== undefined && { failure: this.#failure }),
      },
    ];
  }
}
