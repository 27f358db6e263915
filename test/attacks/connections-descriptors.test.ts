// A server that may have few files open, and more callers than that: strangers, and one token. Descriptors are left for everything that it
// has to do besides: the store, the lease, administrators and probes.
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { newFolder, startServerWith, type ServerProcess } from '../cli/muster.ts';

const DESCRIPTORS = 256;
/** Each kind alone has more connections than the server has descriptors. */
const OF_A_KIND = 300;
/** One that was cut is opened again after so long. */
const AGAIN_MS = 1000;
const WAIT_MS = 30_000;

/** Keeps connections open, from many addresses, and opens again what is cut. */
class Flood {
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  #isOver = false;
  opened = 0;

  constructor(url: string) {
    this.#port = Number(new URL(url).port);
  }

  get open(): number {
    return this.#sockets.size;
  }

  /** `first` is sent on each of them; nothing follows. */
  add(count: number, first: string): void {
    for (let nth = 0; nth < count; nth += 1) this.#connect(first, `127.0.0.${2 + (nth % 50)}`);
  }

  #connect(first: string, localAddress: string): void {
    if (this.#isOver) return;
    const socket = connect({ host: '127.0.0.1', port: this.#port, localAddress });
    this.#sockets.add(socket);
    socket.on('connect', () => {
      this.opened += 1;
      socket.write(first);
    });
    socket.on('error', () => undefined);
    socket.resume();
    socket.once('close', () => {
      this.#sockets.delete(socket);
      setTimeout(() => this.#connect(first, localAddress), AGAIN_MS).unref();
    });
  }

  end(): void {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }
}

const HALF = 'GET /livez HTTP/1.1\r\nhost: x\r\nx-half';

function requestOf(secret: string): string {
  return `GET /api/v1/hosts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${secret}\r\n\r\n`;
}

/** A figure of the server, as an administrator reads it while others crowd the door. */
async function metric(server: ServerProcess, name: string): Promise<number> {
  const admin = readFileSync(join(server.data, 'admin-token'), 'utf8').trim();
  return vi.waitFor(async () => {
    const answer = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${admin}` } });
    const text = await answer.text();
    const line = text.split('\n').find((one) => one.startsWith(`${name} `));
    if (line === undefined) throw new Error(`no ${name} in ${text.slice(0, 500)}`);
    return Number(line.split(' ').at(-1));
  }, WAIT_MS);
}

test('with-more-callers-than-descriptors-the-server-goes-on-with-everything-else', async () => {
  const server = await startServerWith({ descriptors: DESCRIPTORS }, newFolder());
  const { out: secret } = await server.muster('token', 'create', 'greedy', '--role', 'viewer');
  const epoch = await metric(server, 'muster_lease_epoch');
  expect(await metric(server, 'process_max_fds')).toBe(DESCRIPTORS);

  const flood = new Flood(server.url);
  onTestFinished(() => flood.end());
  flood.add(OF_A_KIND, HALF);
  flood.add(OF_A_KIND, requestOf(secret.trim()));
  await vi.waitFor(() => expect(flood.opened).toBeGreaterThan(4 * OF_A_KIND), WAIT_MS);

  // A write of an administrator, over a new connection; the history is read by another thread of the server.
  expect(await server.muster('sites', 'create', 'crowded')).toMatchObject({ code: 0 });
  expect((await server.muster('history', 'site/crowded')).out).toContain('site/crowded');
  await vi.waitFor(async () => expect((await fetch(`${server.url}/readyz`)).status).toBe(200), WAIT_MS);
  const backup = join(newFolder(), 'backup');
  expect(await server.muster('backup', backup)).toMatchObject({ code: 0 });
  expect(await server.muster('verify', backup)).toMatchObject({ code: 0 });

  // The callers were there all the time, at the limits of both kinds.
  expect(await metric(server, 'muster_connections_closed_total{reason="connection-limit"}')).toBeGreaterThan(0);
  expect(await metric(server, 'muster_connections_closed_total{reason="token-limit"}')).toBeGreaterThan(0);
  expect(await metric(server, 'process_open_fds')).toBeLessThan(DESCRIPTORS - 64);
  expect(await metric(server, 'muster_lease_epoch')).toBe(epoch);
  expect(await metric(server, 'muster_lease_held')).toBe(1);
  flood.end();
  const { out, err } = await server.stop();
  expect(out + err).not.toMatch(/EMFILE|ENFILE|too many open files/i);
});
