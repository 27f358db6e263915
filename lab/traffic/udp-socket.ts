// What the sockets of the traffic have in common.
import type { SocketOptions } from 'node:dgram';

/** As much as the system allows: a receiver that waits for the processor must not look like a network that loses packets. */
export const RECEIVE_BYTES = 4 << 20;

/** Addresses are written out: there is nothing to look up. */
export const lookUpLiteral: NonNullable<SocketOptions['lookup']> = (address, _options, done) => {
  done(null, address, address.includes(':') ? 6 : 4);
};
