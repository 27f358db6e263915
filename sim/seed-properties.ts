// Properties that no single checker owns.

/** The assessments of the workloads themselves. */
export const AT_REST =
  'once all has healed: work is finished or waits for a true reason, machines are as they should be';
export const ANSWERED = 'never: a request is not answered';
export const NO_LEFTOVERS = 'once everything is deleted: nothing is left of it anywhere';
