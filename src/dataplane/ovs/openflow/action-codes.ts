// The numbers of actions on the wire.

export const ACTION = {
  output: 0,
  pushVlan: 17,
  popVlan: 18,
  setQueue: 21,
  group: 22,
  decTtl: 24,
  setField: 25,
  experimenter: 0xffff,
} as const;

export const NICIRA = 0x2320;

export const NICIRA_ACTION = {
  resubmit: 1,
  move: 6,
  load: 7,
  resubmitTable: 14,
  controller: 20,
  load2: 33,
  ct: 35,
  nat: 36,
  ctClear: 43,
} as const;

/** The whole packet. */
export const WHOLE_PACKET = 0xffff;
export const NO_TABLE = 0xff;
export const SHORT_IN_PORT = 0xfff8;
export const REASONS = ['no_match', 'action', 'invalid_ttl', 'action_set', 'group', 'packet_out'] as const;
/** The reason that is not printed (the default). */
export const BY_ACTION = 1;
