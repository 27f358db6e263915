// The certificate that the other end of a connection has shown and proven to own the key of. Read once for each connection: it cannot
// change, and reading it costs more than everything else that a heartbeat needs. Who it is for, and whether it counts, is not decided here.
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

const certificates = new WeakMap<Socket, X509Certificate | 'none'>();

export function peerCertificate(socket: Socket): X509Certificate | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  let shown = certificates.get(socket);
  if (shown === undefined) certificates.set(socket, (shown = socket.getPeerX509Certificate() ?? 'none'));
  return shown === 'none' ? undefined : shown;
}
