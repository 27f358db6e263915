// The seeds that every test run plays, and what each of them must at least go through.

export const FIXED_SEEDS = { first: 1, last: 300 };
export const PORT_CALLS_MIN = 2000;
export const FAULTS_MIN = 20;
