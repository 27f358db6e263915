// The end of the traffic that answers: sends each packet back, and pushes to whoever greeted it.
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { Arrivals, pairOf } from './arrivals.ts';
import type { ServedFlow } from './messages.ts';
import { decodePacket, encodePacket } from './packet.ts';
import { runPaced } from './paced-timer.ts';
import { RECEIVE_BYTES, lookUpLiteral } from './udp-socket.ts';

interface ServedFlowState {
  readonly arrivals: Arrivals;
  pushed: number;
  readonly stop: AbortController;
}

export class UdpServer {
  #flows = new Map<number, ServedFlowState>();

  async listen(port: number): Promise<void> {
    for (const [type, address] of [
      ['udp4', '0.0.0.0'],
      ['udp6', '::'],
    ] as const) {
      const socket = createSocket({
        type,
        ipv6Only: type === 'udp6',
        lookup: lookUpLiteral,
        recvBufferSize: RECEIVE_BYTES,
      });
      socket.on('message', (bytes, from) => this.#take(socket, bytes, from));
      // An answer to a client that is gone: what is lost shows in the counts.
      socket.on('error', () => undefined);
      // Looked up first: without a name to resolve it happens at once.
      const listening = once(socket, 'listening');
      socket.bind(port, address);
      await listening;
    }
  }

  /** No more is pushed. */
  stopPushing(): void {
    for (const { stop } of this.#flows.values()) stop.abort();
  }

  /** What was seen until now; from now on everything is new. */
  takeResults(): ServedFlow[] {
    this.stopPushing();
    const taken = [...this.#flows].map(([flow, { arrivals, pushed }]) => ({
      flow,
      ...arrivals.stats,
      sent: pushed,
      receivedBytes: 0,
    }));
    this.#flows = new Map();
    return taken;
  }

  #take(socket: Socket, bytes: Buffer, from: RemoteInfo): void {
    const packet = decodePacket(bytes);
    if (packet === undefined) return;
    const served = this.#served(packet.flow);
    served.arrivals.addPair(pairOf(from.address, from.port));
    if (packet.kind === 'greeting') {
      if (served.pushed === 0) this.#push(socket, from, { flow: packet.flow, everyMs: packet.everyMs });
      return;
    }
    if (packet.kind === 'echo') served.arrivals.add(packet.sequence, performance.now());
    socket.send(bytes, from.port, from.address);
  }

  #push(socket: Socket, to: RemoteInfo, { flow, everyMs }: { flow: number; everyMs: number }): void {
    const served = this.#served(flow);
    runPaced(everyMs, served.stop.signal, () => {
      const packet = { kind: 'push', flow, sequence: served.pushed, everyMs } as const;
      served.pushed += 1;
      socket.send(encodePacket(packet), to.port, to.address);
    });
  }

  #served(flow: number): ServedFlowState {
    const served = this.#flows.get(flow) ?? { arrivals: new Arrivals(), pushed: 0, stop: new AbortController() };
    this.#flows.set(flow, served);
    return served;
  }
}
