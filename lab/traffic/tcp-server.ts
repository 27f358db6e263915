// The server end of TCP traffic. The first line of a connection says which flow it is and what the client requests.
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { Arrivals, pairOf } from './arrivals.ts';
import { runPaced } from './paced-timer.ts';
import type { ServedFlow, TcpFlow } from './messages.ts';

interface ServedFlowState {
  readonly arrivals: Arrivals;
  sent: number;
  received: number;
}

export class TcpServer {
  #flows = new Map<number, ServedFlowState>();

  async listen(port: number): Promise<void> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#take(socket));
    server.listen(port, '::');
    await once(server, 'listening');
  }

  takeResults(): ServedFlow[] {
    const taken = [...this.#flows].map(([flow, { arrivals, sent, received }]) => ({
      flow,
      ...arrivals.stats,
      sent,
      receivedBytes: received,
    }));
    this.#flows = new Map();
    return taken;
  }

  #take(socket: Socket): void {
    const over = new AbortController();
    socket.on('error', () => undefined); // the client's end reports it
    socket.on('close', () => over.abort());
    let head = '';
    let served: ServedFlowState | undefined;
    socket.on('data', (bytes: Buffer) => {
      if (served !== undefined) {
        served.received += bytes.length;
        served.arrivals.addTime(performance.now());
        return;
      }
      head += bytes.toString('latin1');
      const end = head.indexOf('\n');
      if (end === -1) return;
      const wanted = JSON.parse(head.slice(0, end)) as TcpFlow;
      served = this.#served(wanted.flow, socket);
      served.received += head.length - end - 1;
      if (wanted.kind === 'download') download(socket, wanted, served, over.signal);
    });
    socket.on('end', () => {
      over.abort();
      socket.end();
    });
  }

  #served(flow: number, socket: Socket): ServedFlowState {
    const served = this.#flows.get(flow) ?? { arrivals: new Arrivals(), sent: 0, received: 0 };
    served.arrivals.addPair(pairOf(socket.remoteAddress ?? '', socket.remotePort ?? 0));
    this.#flows.set(flow, served);
    return served;
  }
}

/** Sends at an even pace until the signal. */
function download(socket: Socket, { everyMs, bytes }: TcpFlow, served: ServedFlowState, over: AbortSignal): void {
  runPaced(everyMs, over, () => {
    served.sent += bytes;
    socket.write(Buffer.alloc(bytes));
  });
}
