// Opens a socket to a daemon.
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SocketAddress } from './address.ts';
import { ConnectionLost } from './failures.ts';

/** A new connection; `signal` aborts the attempt. */
export type Dial = (signal: AbortSignal) => Promise<Duplex>;

/** A peer whose machine is gone closes nothing; the kernel probes it now and then. */
const KEEP_ALIVE_AFTER_MS = 10_000;

export function dialSocket(address: SocketAddress): Dial {
  return (signal) =>
    new Promise((resolve, reject) => {
      const socket = open(address);
      const fail = (cause: unknown): void => {
        socket.destroy();
        reject(new ConnectionLost(connectProblem(address, cause), { cause }));
      };
      const abort = (): void => fail(undefined);
      signal.addEventListener('abort', abort, { once: true });
      socket.once('error', fail);
      socket.once('connect', () => {
        signal.removeEventListener('abort', abort);
        resolve(socket);
      });
    });
}

function open(address: SocketAddress): Socket {
  if (address.kind === 'unix') return connect({ path: address.path });
  // Requests are small and answered one by one: gathering them costs 40 ms each.
  return connect({ host: address.host, port: address.port, noDelay: true, keepAlive: true }).setKeepAlive(
    true,
    KEEP_ALIVE_AFTER_MS,
  );
}

/** For whoever gave the address. */
function connectProblem(address: SocketAddress, cause: unknown): string {
  const where = show(address);
  if (!(cause instanceof Error)) return `${where} does not answer`;
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === 'ENOENT') return `there is no ${where}`;
  if (code === 'ECONNREFUSED') return `connection refused at ${where}`;
  if (code === 'EACCES' || code === 'EPERM') return `${where} may not be opened by this user`;
  return `${where}: ${message}`;
}

function show(address: SocketAddress): string {
  return address.kind === 'unix' ? address.path : `${address.host} port ${address.port}`;
}
