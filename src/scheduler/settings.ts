// The scheduler's settings: the weight of each weigher, and the limit of instances per host.
import { Type, type Static } from 'typebox';
import { setting } from '../fleet/index.ts';

/** Beyond this the sum of the terms is no longer exact. */
const MULTIPLIER_MAX = 1_000_000;
const multiplier = Type.Number({ minimum: -MULTIPLIER_MAX, maximum: MULTIPLIER_MAX });

const WEIGHTS = Type.Object(
  {
    /** The host with the most memory, vcpus or disk left; negative packs: the one with the least that still fits. */
    memory: multiplier,
    vcpus: multiplier,
    disk: multiplier,
    /** The host with the fewest instances. */
    spread: multiplier,
    /** The host whose free vcpus and memory it balances. */
    balance: multiplier,
    /** The pools with the most addresses left. */
    stock: multiplier,
    /** The host with the fewest recent failed builds. */
    failures: multiplier,
    /** Soft affinity and soft anti-affinity of server groups. */
    softAffinity: multiplier,
  },
  { additionalProperties: false },
);

export type Weights = Static<typeof WEIGHTS>;

/** Hosts are filled evenly; a host that fails builds comes last, and soft groups are kept wherever that is possible. */
export const SPREADING: Weights = {
  memory: 1,
  vcpus: 1,
  disk: 1,
  spread: 1,
  balance: 0,
  stock: 1,
  failures: 10,
  softAffinity: 10,
};

/**
 * Hosts are filled one after the other. Filling by size alone strands memory on hosts whose vcpus are used up, and vice versa; balance places
 * what evens out each host, and about a tenth more fits (see the packing benchmark).
 */
export const PACKING: Weights = {
  memory: -1,
  vcpus: -1,
  disk: 0,
  spread: 0,
  balance: 16,
  stock: 1,
  failures: 10,
  softAffinity: 10,
};

export const SCHEDULER = setting('scheduler', {
  about:
    'How hosts are ranked: each weigher is scaled to 0..1 over the fleet, multiplied and added up. ' +
    'Negative memory and vcpus pack hosts instead of spreading over them; with them use balance 16 and spread 0. ' +
    'instancesPerHostMax is the limit of instances per host; 0 sets none.',
  schema: Type.Object(
    { weights: WEIGHTS, instancesPerHostMax: Type.Integer({ minimum: 0, maximum: 1_000_000 }) },
    { additionalProperties: false },
  ),
  defaultValue: { weights: SPREADING, instancesPerHostMax: 0 },
});

export type SchedulerSettings = (typeof SCHEDULER)['defaultValue'];
