// The codes of the reasons that this module gives. A program in which one of them has no sentence does not start; test/toolchain/reason-codes.test.ts compares the
// list with the source.

export const KUBERNETES_REASON_CODES: readonly string[] = [
  'budget-blocks',
  'cluster-refused',
  'cluster-silent',
  'cluster-unreachable',
  'deadline-passed',
  'drain-blocked',
  'instance-deleting',
  'instance-not-deleted',
  'node-replaced',
  'node-uncordoned',
  'other-worker-failed',
  'others-to-check',
  'others-to-cordon',
  'others-to-drain',
  'pods-leaving',
  'unknown-cluster',
  'volumes-attached',
  'worker-superseded',
];
