// The codes of the reasons that this module gives, to items, alarms and refused hosts. A program in which one of them has no sentence does not start;
// test/toolchain/reason-codes.test.ts compares the list with the source.

export const OPERATION_REASON_CODES: readonly string[] = [
  'deadline-passed',
  'driver-silent',
  'internal-error',
  'items-failed',
];
