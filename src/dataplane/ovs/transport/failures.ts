// What goes wrong between us and a daemon of Open vSwitch. Each failure has a code that does not change and says whether
// a repetition can help.

export type FailureCode =
  | 'bad-address'
  | 'client-closed'
  | 'command-refused'
  | 'connection-lost'
  | 'malformed-message'
  | 'message-too-large'
  | 'not-applied'
  | 'request-refused'
  | 'request-timed-out'
  | 'too-busy'
  | 'transaction-refused';

interface Because {
  readonly cause?: unknown;
}

/** All failures of the clients are of this class. */
export class DaemonFailure extends Error {
  readonly code: FailureCode;
  readonly retryable: boolean;

  constructor(kind: { readonly code: FailureCode; readonly retryable: boolean }, message: string, because?: Because) {
    super(message, because);
    this.name = new.target.name;
    this.code = kind.code;
    this.retryable = kind.retryable;
  }
}

/** An address that is neither `unix:/path` nor `tcp:host:port`. */
export class BadAddress extends DaemonFailure {
  constructor(message: string) {
    super({ code: 'bad-address', retryable: false }, message);
  }
}

export class ClientClosed extends DaemonFailure {
  constructor(message = 'the client was closed') {
    super({ code: 'client-closed', retryable: false }, message);
  }
}

/** The daemon is not there, or went away before it answered. */
export class ConnectionLost extends DaemonFailure {
  /** Whether the daemon may have carried out the request: then read before you repeat it. */
  readonly mayHaveApplied: boolean;

  constructor(message: string, options: Because & { readonly mayHaveApplied?: boolean } = {}) {
    super({ code: 'connection-lost', retryable: true }, message, options);
    this.mayHaveApplied = options.mayHaveApplied ?? false;
  }
}

/** The daemon did not answer in time. It may still carry out the request. */
export class RequestTimedOut extends DaemonFailure {
  constructor(message: string) {
    super({ code: 'request-timed-out', retryable: true }, message);
  }
}

/** So much is waiting that one more would only wait too. */
export class TooBusy extends DaemonFailure {
  constructor(message: string) {
    super({ code: 'too-busy', retryable: true }, message);
  }
}

/** What came is not of the protocol. The connection is closed: where the next message begins is unknown. */
export class MalformedMessage extends DaemonFailure {
  constructor(message: string, because?: Because) {
    super({ code: 'malformed-message', retryable: true }, message, because);
  }
}

/** A message beyond the limit, of theirs or of ours. */
export class MessageTooLarge extends DaemonFailure {
  constructor(message: string) {
    super({ code: 'message-too-large', retryable: false }, message);
  }
}

/** The daemon answered a request with an error. */
export class RequestRefused extends DaemonFailure {
  /** As the daemon sent it: a text or an object. */
  readonly answer: unknown;

  constructor(message: string, answer: unknown) {
    super({ code: 'request-refused', retryable: false }, message);
    this.answer = answer;
  }
}

/** What a request ends with whose connection has ended. */
export function toConnectionLost(what: string, why: unknown, mayHaveApplied: boolean): DaemonFailure {
  if (why instanceof ClientClosed) return why;
  return new ConnectionLost(`${what}: ${asError(why).message}`, { cause: why, mayHaveApplied });
}

export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
