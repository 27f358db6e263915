// The codes of the reasons that this module gives, to items, alarms and refused hosts. A program in which one of them has no sentence does not start;
// test/toolchain/reason-codes.test.ts compares the list with the source.

export const NETWORK_REASON_CODES: readonly string[] = [
  'address-not-carried',
  'back-end-not-configured',
  'mapping-gone',
  'network-credentials-missing',
  'network-credentials-needed',
  'network-unavailable',
  'pool-empty',
  'port-bound',
  'port-not-deleted',
];
