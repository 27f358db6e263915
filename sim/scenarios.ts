// The scenarios: the workloads of a world, its faults, and the guards that its fixed seeds must hit.
import {
  BAREMETAL_FAULTS,
  CLOCK_FAULTS,
  FAULTS,
  GRAY_COMPOUND_FAULTS,
  GRAY_FAULTS,
  INSTANCE_FAULTS,
  KUBERNETES_FAULTS,
  SCALE_IN_FAULTS,
  SCALE_IN_COMPOUND_FAULTS,
} from './faults/faults.ts';
import type { Fault } from './faults/fault.ts';
import {
  FIXED_BAREMETAL_SEEDS,
  FIXED_CLOCK_SEEDS,
  FIXED_GRAY_SEEDS,
  FIXED_INSTANCE_SEEDS,
  FIXED_KUBERNETES_SEEDS,
  FIXED_SCALE_IN_SEEDS,
  FIXED_SEEDS,
  type Seeds,
} from './fixed-seeds.ts';
import {
  BAREMETAL_MARKS,
  CLOCK_MARKS,
  EXPECTED_MARKS,
  GRAY_MARKS,
  INSTANCE_MARKS,
  KUBERNETES_MARKS,
  SCALE_IN_MARKS,
} from './marks.ts';
import { baremetal } from './workloads/baremetal/baremetal.ts';
import { builds } from './workloads/builds.ts';
import { callers } from './workloads/callers.ts';
import { counters } from './workloads/counters.ts';
import { expiringNotes } from './workloads/expiring-notes.ts';
import { hosts } from './workloads/hosts.ts';
import { instances } from './workloads/instances.ts';
import { kubernetes } from './workloads/kubernetes/kubernetes.ts';
import { scaleIn } from './workloads/scale-in.ts';
import { steadyHosts } from './workloads/steady-hosts.ts';
import type { Workload } from './workloads/workload.ts';

export interface Scenario {
  readonly name: string;
  readonly workloads: readonly Workload[];
  readonly faults: readonly Fault[];
  /** Situations that are too rare by chance, set up in some of the seeds: see `compound-faults.ts`. */
  readonly compoundFaults?: readonly Fault[];
  /** They are what the scenario is for: they strike in every seed. */
  readonly hasCompoundFaultsAlways?: true;
  readonly seeds: Seeds;
  readonly marks: readonly string[];
}

/** The base of every module: journal, lease, operations, hosts and their agents. */
export const CORE: Scenario = {
  name: 'core',
  workloads: [counters, hosts, builds, callers],
  faults: FAULTS,
  seeds: FIXED_SEEDS,
  marks: EXPECTED_MARKS,
};

/** Few hosts with networks and instances on them: every request for those, and all their faults. */
export const INSTANCES: Scenario = {
  name: 'instances',
  workloads: [instances],
  faults: INSTANCE_FAULTS,
  seeds: FIXED_INSTANCE_SEEDS,
  marks: INSTANCE_MARKS,
};

/** Hosts that are taken out of service, removed and joined again, with instances and services on them. */
export const SCALE_IN: Scenario = {
  name: 'scale-in',
  workloads: [scaleIn],
  faults: SCALE_IN_FAULTS,
  compoundFaults: SCALE_IN_COMPOUND_FAULTS,
  seeds: FIXED_SCALE_IN_SEEDS,
  marks: SCALE_IN_MARKS,
};

/**
 * Hosts that are up and cannot prepare a service or control their switch, while others leave and come back. Little else goes wrong, so that it can
 * be assessed by time what waited for what.
 */
export const GRAY_FAILURES: Scenario = {
  name: 'gray-failures',
  workloads: [steadyHosts],
  faults: GRAY_FAULTS,
  compoundFaults: GRAY_COMPOUND_FAULTS,
  hasCompoundFaultsAlways: true,
  seeds: FIXED_GRAY_SEEDS,
  marks: GRAY_MARKS,
};

/** Servers whose wall clocks jump while they run and while they are off: retention, and that everything else keeps working. */
export const CLOCKS: Scenario = {
  name: 'clocks',
  workloads: [counters, expiringNotes],
  faults: CLOCK_FAULTS,
  seeds: FIXED_CLOCK_SEEDS,
  marks: CLOCK_MARKS,
};

/** Bare-metal nodes behind several managers: reservations, leases, take-over. */
export const BAREMETAL: Scenario = {
  name: 'baremetal',
  workloads: [baremetal],
  faults: BAREMETAL_FAULTS,
  seeds: FIXED_BAREMETAL_SEEDS,
  marks: BAREMETAL_MARKS,
};

/** Clusters whose workers run on instances, while hosts, instances and the clusters themselves change. */
export const KUBERNETES: Scenario = {
  name: 'kubernetes',
  workloads: [kubernetes],
  faults: KUBERNETES_FAULTS,
  seeds: FIXED_KUBERNETES_SEEDS,
  marks: KUBERNETES_MARKS,
};

export const SCENARIOS: readonly Scenario[] = [CORE, INSTANCES, SCALE_IN, GRAY_FAILURES, CLOCKS, BAREMETAL, KUBERNETES];
