// The codes of the reasons that this module gives, to items, alarms and refused hosts. A program in which one of them has no sentence does not start;
// test/toolchain/reason-codes.test.ts compares the list with the source.

export const ELECTION_REASON_CODES: readonly string[] = [
  'connections-not-copied',
  'elected-anew',
  'elections-held',
  'handover-drains',
  'handover-under-way',
  'held-out-of-control',
  'held-while-bfd-up',
  'host-just-silent',
  'host-recovering',
  'host-stays',
  'no-candidate',
  'service-gone',
  'service-withdrawn',
  'target-bfd-down',
  'target-unfit',
];
