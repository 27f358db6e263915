import { builds } from './builds.ts';
import { counters } from './counters.ts';
import { hosts } from './hosts.ts';
import type { Workload } from './workload.ts';

/** All that goes on in every world. */
export const WORKLOADS: readonly Workload[] = [counters, hosts, builds];
