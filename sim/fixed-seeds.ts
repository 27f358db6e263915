// The seeds that every test run plays, and the coverage that each world must reach.

export interface Seeds {
  readonly first: number;
  readonly last: number;
  /** Single seeds that once found a bug, or hit a guard that the others do not. */
  readonly also?: readonly number[];
}

export const FIXED_SEEDS: Seeds = { first: 1, last: 300, also: [653432976, 381] };
/** Of the world with instances. */
export const FIXED_INSTANCE_SEEDS: Seeds = {
  first: 1,
  last: 100,
  also: [710102, 4000026, 4000055, 5000001, 401229144, 1301946298, 1070364053, 1429444530, 47506362, 1568708905],
};
/** Of the world whose hosts come and go. */
export const FIXED_SCALE_IN_SEEDS: Seeds = {
  first: 1,
  last: 100,
  also: [
    700082, 700085, 900015, 1000181, 1000228, 1000364, 577759510, 101980439, 1010138818, 1087845746, 1231863595,
    1865282943, 482050111, 1384416686, 216284663, 105, 2298, 209, 346731059, 1260288891, 128, 5045, 500012, 433438891,
    1299931595, 461837556,
  ],
};
/** Of the world whose clocks jump. */
export const FIXED_CLOCK_SEEDS: Seeds = { first: 1, last: 50 };
/** Of the world with gray failures. */
export const FIXED_GRAY_SEEDS: Seeds = { first: 1, last: 20, also: [888491782] };
/** Of the world with bare metal. */
export const FIXED_BAREMETAL_SEEDS: Seeds = { first: 1, last: 40, also: [17400169, 49] };
/** Of the world with Kubernetes. */
export const FIXED_KUBERNETES_SEEDS: Seeds = { first: 1, last: 30 };
export const PORT_CALLS_MIN = 2000;
export const FAULTS_MIN = 20;
