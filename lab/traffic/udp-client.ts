// The client end of UDP traffic.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { Arrivals } from './arrivals.ts';
import { runPaced } from './paced-timer.ts';
import type { BeginningFlows, ClientResult, EchoFlow, LostPacket, PushFlow } from './messages.ts';
import { decodePacket, encodePacket, type Packet, type PacketKind } from './packet.ts';
import { lookUpLiteral, RECEIVE_BYTES } from './udp-socket.ts';

const WARM_UP_EVERY_MS = 100;
const WARM_UP_PATIENCE_MS = 20_000;
/** A few show when it was. */
const LOST_REPORTED_MAX = 20;

/** A flow at the client end: prepared, begun, ended. */
export interface RunningFlow {
  prepare(): Promise<void>;
  begin(): void;
  /** No more is sent. */
  stop(): Promise<void>;
  /** After what was on its way has had time to arrive. */
  close(): readonly ClientResult[];
}

export class UdpFlow implements RunningFlow {
  readonly #flow: EchoFlow | PushFlow;
  readonly #arrivals = new Arrivals();
  readonly #stopped = new AbortController();
  #socket: Socket | undefined;
  /** When, by number. */
  readonly #sentAtMs: number[] = [];
  #onReceived: (() => void) | undefined;

  constructor(flow: EchoFlow | PushFlow) {
    this.#flow = flow;
  }

  async open(): Promise<Socket> {
    const { address, port, sourcePort } = this.#flow;
    const type = address.includes(':') ? 'udp6' : 'udp4';
    const socket = createSocket({ type, lookup: lookUpLiteral, recvBufferSize: RECEIVE_BYTES });
    this.#socket = socket;
    // Such as "connection refused": what is lost shows in the counts.
    socket.on('error', () => undefined);
    socket.on('message', (bytes) => this.#take(decodePacket(bytes)));
    if (sourcePort !== undefined) {
      // Looked up first: without a name to resolve it happens at once.
      const listening = once(socket, 'listening');
      socket.bind(sourcePort);
      await listening;
    }
    const connected = once(socket, 'connect');
    socket.connect(port, address);
    await connected;
    return socket;
  }

  /** Neighbours are found and bridges have learnt: from here on a packet that is lost was lost. */
  async prepare(): Promise<void> {
    await this.open();
    const received = new Promise<void>((done) => {
      this.#onReceived = done;
    });
    const over = AbortSignal.any([AbortSignal.timeout(WARM_UP_PATIENCE_MS), this.#stopped.signal]);
    const warmUp = new AbortController();
    runPaced(WARM_UP_EVERY_MS, AbortSignal.any([over, warmUp.signal]), () =>
      this.#send(this.#flow.kind === 'push' ? 'greeting' : 'warm-up', 0),
    );
    try {
      await Promise.race([received, once(over, 'abort')]);
    } finally {
      warmUp.abort();
    }
    if (over.aborted) throw new Error(`${this.#flow.address} does not answer flow ${this.#flow.flow}`);
  }

  begin(): void {
    if (this.#flow.kind === 'push') return;
    runPaced(this.#flow.everyMs, this.#stopped.signal, () => this.sendNext());
  }

  sendNext(): void {
    this.#send('echo', this.#sentAtMs.length);
    this.#sentAtMs.push(performance.timeOrigin + performance.now());
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
  }

  close(): readonly ClientResult[] {
    this.#socket?.close();
    const { flow, kind, everyMs } = this.#flow;
    const sent = this.#sentAtMs.length;
    return [{ flow, kind, everyMs, ...this.#arrivals.stats, sent, receivedBytes: 0, lost: this.#lost() }];
  }

  #lost(): readonly LostPacket[] {
    return this.#sentAtMs
      .map((sentAtMs, sequence) => ({ sequence, sentAtMs: Math.round(sentAtMs) }))
      .filter(({ sequence }) => !this.#arrivals.has(sequence))
      .slice(0, LOST_REPORTED_MAX);
  }

  #send(kind: PacketKind, sequence: number): void {
    const { flow, everyMs } = this.#flow;
    this.#socket?.send(encodePacket({ kind, flow, sequence, everyMs }), () => undefined);
  }

  #take(packet: Packet | undefined): void {
    if (packet?.flow !== this.#flow.flow) return;
    this.#onReceived?.();
    if (packet.kind === 'echo' || packet.kind === 'push') this.#arrivals.add(packet.sequence, performance.now());
  }
}

/** Flows that begin one after the other while the load lasts. Nothing is tried out before: their first packets count. */
export class BeginningUdpFlows implements RunningFlow {
  readonly #plan: BeginningFlows;
  readonly #stopped = new AbortController();
  readonly #flows: UdpFlow[] = [];

  constructor(plan: BeginningFlows) {
    this.#plan = plan;
  }

  async prepare(): Promise<void> {
    // Nothing to do: that is what they are for.
  }

  begin(): void {
    const { newEveryMs, most } = this.#plan;
    runPaced(newEveryMs, this.#stopped.signal, () => {
      if (this.#flows.length < most) void this.#beginOne();
    });
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
  }

  close(): readonly ClientResult[] {
    return this.#flows.flatMap((flow) => flow.close());
  }

  async #beginOne(): Promise<void> {
    const { flow: first, address, port, everyMs, packets, sourcePort } = this.#plan;
    const nth = this.#flows.length;
    const from = sourcePort === undefined ? {} : { sourcePort: sourcePort + nth };
    const flow = new UdpFlow({ kind: 'echo', flow: first + nth, address, port, everyMs, ...from });
    this.#flows.push(flow);
    await flow.open();
    const done = new AbortController();
    let left = packets;
    runPaced(everyMs, AbortSignal.any([done.signal, this.#stopped.signal]), () => {
      flow.sendNext();
      left -= 1;
      if (left === 0) done.abort();
    });
  }
}
