// A TCP proxy before PostgreSQL that can be pointed elsewhere, can fall silent, and can cut or silence connections at a chosen message.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/**
 * Where to cut: before the message reaches the server, or after the server has answered it and before the client gets the answer. With `freeze`
 * the connection stalls there instead, and neither end is notified.
 */
export interface Cut {
  readonly at: string;
  readonly when: 'before-server' | 'after-server';
  readonly freeze?: true;
}

export class Proxy {
  readonly #server = createServer((client) => this.#carry(client));
  readonly #sockets = new Set<Socket>();
  #targetPort: number;
  #cut: Cut | undefined;
  #frozen = false;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** The same database as at `url`, through the proxy. */
  through(url: string): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy is not listening');
    const through = new URL(url);
    through.port = String(address.port);
    return through.href;
  }

  /** Cuts one connection, at the next message that has `at` in it: a statement's text, or the name it was prepared under. */
  cutOnce(cut: Cut): void {
    this.#cut = cut;
  }

  pointTo(targetPort: number): void {
    this.#targetPort = targetPort;
    this.cutAll();
  }

  /** From now on nothing comes through, and neither end is notified: as when a cable is cut. */
  freeze(): void {
    this.#frozen = true;
  }

  /** What was lost meanwhile stays lost: every connection has to be made anew. */
  thaw(): void {
    this.cutAll();
    this.#frozen = false;
  }

  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.cutAll();
    await once(this.#server, 'close');
  }

  #carry(client: Socket): void {
    const server = connect(this.#targetPort, '127.0.0.1');
    const cutBoth = (): void => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', cutBoth);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        cutBoth();
      });
    }
    let swallowing = false;
    client.on('data', (bytes) => {
      if (this.#frozen) return;
      const cut = this.#cutFor(bytes);
      if (cut?.freeze === true) {
        this.#frozen = true;
        if (cut.when === 'after-server') server.write(bytes);
        return;
      }
      if (cut?.when === 'before-server') return cutBoth();
      swallowing ||= cut !== undefined;
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (this.#frozen) return;
      if (swallowing) cutBoth();
      else client.write(bytes);
    });
  }

  #cutFor(bytes: Buffer): Cut | undefined {
    const cut = this.#cut;
    if (cut === undefined || !bytes.includes(cut.at)) return;
    this.#cut = undefined;
    return cut;
  }
}
