// The client certificate of a connection, whose key the peer has proven to hold. Read once for each connection: it cannot change, and
// reading it costs more than the rest of a heartbeat. Its subject and validity are not assessed here.
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
