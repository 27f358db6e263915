// Refuses what is not HTTP: one raw response, then the connection is closed. A peer that does not close its own end is not
// waited for.
import type { Socket } from 'node:net';
import { HttpProblem, PROBLEM_TYPE } from './problem.ts';

/** Time for the peer to read the answer and to close. Destroying at once could reset the connection before it has read it. */
const LINGER_MS = 1000;

export function refuseConnection(error: Error & { readonly code?: string }, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const problem = new HttpProblem({
    status,
    code: 'malformed-request',
    detail: 'This is not an HTTP request that can be read.',
  });
  const body = JSON.stringify(problem.body('none'));
  const head = `HTTP/1.1 ${status} Refused\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body);
  const late = setTimeout(() => socket.destroy(), LINGER_MS);
  late.unref();
  socket.once('close', () => clearTimeout(late));
  // What else it sends is thrown away, so that its own end of the connection is seen.
  socket.resume();
}
