// Why a limit closed a connection. The words are labels of a metric and in alert rules: they stay what they are.
export const CLOSE_REASONS = [
  /** Its address had as many without a valid token as one may have: the oldest went. */
  'address-limit',
  /** All were taken: the oldest without a valid token made place. */
  'connection-limit',
  /** All were taken by callers, and those beyond that as well: a new one was not taken. */
  'none-left',
  /** Beyond all, and not an administrator's. */
  'reserved-for-admins',
  /** Its token had as many as one may have. */
  'token-limit',
  /** Nothing moved on it for two minutes. */
  'inactive',
  'handshake-too-slow',
  'request-too-slow',
  'headers-too-large',
] as const;

export type CloseReason = (typeof CLOSE_REASONS)[number];

export type CountClosed = (reason: CloseReason) => void;
