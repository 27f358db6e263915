// Refuses what is not HTTP: one raw response, then the connection is closed. A peer that does not close its own end is not
// waited for.
import type { Socket } from 'node:net';
import type { CloseReason, CountClosed } from './limits/close-reasons.ts';
import { HttpProblem, PROBLEM_TYPE } from './problem.ts';

export const HEADER_BYTES_MAX = 16 * 1024;

/** Time for the peer to read the answer and to close. Destroying at once could reset the connection before it has read it. */
const LINGER_MS = 1000;

/** What a limit is behind; anything else is no HTTP, or a peer that is gone. */
const LIMITS: Readonly<Record<string, CloseReason>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request-too-slow',
  ERR_TLS_HANDSHAKE_TIMEOUT: 'handshake-too-slow',
  HPE_HEADER_OVERFLOW: 'headers-too-large',
};

export function refuseConnection(
  error: Error & { readonly code?: string },
  socket: Socket,
  countClosed: CountClosed,
): void {
  const limit = LIMITS[error.code ?? ''];
  if (limit !== undefined) countClosed(limit);
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const problem = problemOf(error.code);
  const { status } = problem;
  const body = JSON.stringify(problem.body('none'));
  const head = `HTTP/1.1 ${status} Refused\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body);
  const late = setTimeout(() => socket.destroy(), LINGER_MS);
  late.unref();
  socket.once('close', () => clearTimeout(late));
  // What else it sends is thrown away, so that its own end of the connection is seen.
  socket.resume();
}

function problemOf(code: string | undefined): HttpProblem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new HttpProblem({
        status: 431,
        code: 'headers-too-large',
        detail: `The headers of the request are larger than ${HEADER_BYTES_MAX / 1024} KiB. Send fewer or shorter ones.`,
      });
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new HttpProblem({
        status: 408,
        code: 'request-too-slow',
        detail:
          'The request did not arrive in full in the time that this server allows. Send it at once, on a new connection.',
      });
    default:
      return new HttpProblem({
        status: 400,
        code: 'malformed-request',
        detail:
          'What came over this connection is no HTTP/1.1 request. Check what is sent, and whether this port is the right one.',
      });
  }
}
