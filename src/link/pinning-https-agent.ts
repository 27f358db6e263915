// Connections to servers that are known by a fingerprint. A request gets a connection only after the certificate was compared: nothing,
// no secret and no path, is sent to a server that shows another one.
import { Agent, type AgentOptions, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { LinkDown } from './call.ts';
import { findPinMismatch, type Fingerprint } from './server-pin.ts';

/** A server that does not finish the handshake is not waited for. */
const HANDSHAKE_MS = 10_000;

type ConnectionCallback = (error: Error | null, stream: Duplex) => void;

export class PinningHttpsAgent extends Agent {
  readonly #pins: readonly Fingerprint[];
  readonly #hasAuthority: boolean;

  constructor(options: AgentOptions, pins: readonly Fingerprint[]) {
    super(options);
    this.#pins = pins;
    this.#hasAuthority = options.ca !== undefined;
  }

  override createConnection(options: RequestOptions, opened?: ConnectionCallback): undefined {
    // Where an authority was named as well, it has to certify the server, too. Sessions are not resumed: each handshake is checked.
    const to = options as ConnectionOptions;
    const socket = connect({
      ...to,
      rejectUnauthorized: this.#hasAuthority,
      session: undefined,
    });
    const reportFailure = (error: Error): void => opened?.(error, socket);
    socket.once('error', reportFailure);
    socket.setTimeout(HANDSHAKE_MS, () => socket.destroy(new LinkDown('the server did not finish the TLS handshake')));
    socket.once('secureConnect', () => {
      const mismatch = findPinMismatch(peerCertificateOf(socket), this.#pins, `https://${to.host}:${to.port}`);
      if (mismatch !== undefined) {
        socket.destroy(mismatch);
        return;
      }
      socket.setTimeout(0);
      socket.removeAllListeners('timeout');
      socket.off('error', reportFailure);
      opened?.(null, socket);
    });
  }
}

function peerCertificateOf(socket: TLSSocket): ReturnType<TLSSocket['getPeerX509Certificate']> {
  return socket.getPeerX509Certificate();
}
