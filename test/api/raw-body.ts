// A request whose body is sent piece by piece over a socket of its own: cut, slow, endless, or kept back, as a test says.
import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';

export interface RawRequest {
  readonly path: string;
  readonly secret: string;
  readonly type?: string;
  /** Announced as this long; in chunks when nothing is said. */
  readonly length?: number;
}

const sockets: Socket[] = [];

/** Before servers are closed: they wait for what is under way. */
export function hangUp(): void {
  for (const socket of sockets.splice(0)) socket.destroy();
}

export class RawBody {
  readonly socket: Socket;
  readonly #inChunks: boolean;
  #text = '';

  private constructor(socket: Socket, inChunks: boolean) {
    this.socket = socket;
    this.#inChunks = inChunks;
    socket.on('data', (chunk) => {
      this.#text += String(chunk);
    });
    socket.on('error', () => undefined);
    sockets.push(socket);
  }

  /** The headers are looked at by then. */
  static async begin(
    url: string,
    { path, secret, type = 'application/x-ndjson', length }: RawRequest,
  ): Promise<RawBody> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const body = new RawBody(socket, length === undefined);
    const headers = [
      `POST ${path} HTTP/1.1`,
      'host: x',
      `authorization: Bearer ${secret}`,
      `content-type: ${type}`,
      length === undefined ? 'transfer-encoding: chunked' : `content-length: ${length}`,
      'expect: 100-continue',
    ];
    socket.write(`${headers.join('\r\n')}\r\n\r\n`);
    await expect.poll(() => body.#text).toContain('HTTP/1.1');
    return body;
  }

  /** False when the other end does not take more for now. */
  send(part: string | Uint8Array): boolean {
    const bytes = Buffer.from(part as string);
    if (!this.#inChunks) return this.socket.write(bytes);
    return this.socket.write(
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]),
    );
  }

  end(): void {
    if (this.#inChunks) this.socket.write('0\r\n\r\n');
  }

  /** The answer so far, without the interim answer 100. */
  get answer(): string {
    return this.#text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
  }

  /** What was answered, as soon as all of it is there. */
  async answered(timeout = 10_000): Promise<{ status: number; body: Record<string, unknown> }> {
    await expect.poll(() => this.answer, { timeout }).toMatch(/\r\n\r\n\{.*\}$/s);
    const [head = '', body = ''] = this.answer.split(/\r\n\r\n(.*)/s);
    return { status: Number(head.split(' ')[1]), body: JSON.parse(body) as Record<string, unknown> };
  }

  async closed(timeout = 10_000): Promise<void> {
    await expect.poll(() => this.socket.destroyed || this.socket.readableEnded, { timeout }).toBe(true);
  }
}
