// The seeds that every test run plays, and what each of them must at least go through.

export interface Seeds {
  readonly first: number;
  readonly last: number;
  /** Seeds that show a fault which is not mended yet. Each is to be mended and taken out of here, never forgotten. */
  readonly unmended?: readonly number[];
}

export const FIXED_SEEDS: Seeds = { first: 1, last: 300 };
/** Of the world with instances. */
export const FIXED_INSTANCE_SEEDS: Seeds = { first: 1, last: 100 };
/** Of the world whose hosts come and go. */
export const FIXED_SCALE_IN_SEEDS: Seeds = {
  first: 1,
  last: 100,
  // An agent that lost its newest view in a crash wipes its machine under the stamp of an older one when it is removed.
  unmended: [44],
};
export const PORT_CALLS_MIN = 2000;
export const FAULTS_MIN = 20;
