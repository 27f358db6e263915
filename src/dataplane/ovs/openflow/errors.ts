// Errors of requests and of the peer. A malformed request is refused before anything is sent; a peer that violates the protocol loses its
// connection.
import { MalformedMessage } from '../transport/failures.ts';
import { SwitchRefused } from '../../switch/switch.ts';

/** The peer violates OpenFlow 1.4. */
export class ProtocolError extends MalformedMessage {}

/** A flow or a group in a syntax that this client does not support. */
export class BadFlowText extends SwitchRefused {
  constructor(message: string) {
    super(message);
    this.name = 'BadFlowText';
  }
}

/** A text names a port that the switch does not have. */
export class UnknownPort extends SwitchRefused {
  readonly port: string;

  constructor(port: string) {
    super(`the switch has no port "${port}"`);
    this.name = 'UnknownPort';
    this.port = port;
  }
}

/** The switch refused. `error` is the OpenFlow name, such as `OFPBAC_BAD_OUT_GROUP`; `what` is what was refused. */
export class RefusedBySwitch extends SwitchRefused {
  readonly error: string;
  readonly what: string;

  constructor(error: string, what: string) {
    super(`the switch refuses ${what}: ${error}`);
    this.name = 'RefusedBySwitch';
    this.error = error;
    this.what = what;
  }
}
