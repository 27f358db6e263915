// The order of test files: those that take long come first, so that none of them runs alone at the end. Vitest knows by itself how long
// a file took before, but not in a new clone.
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = new URL('../..', import.meta.url).pathname;

/** Seconds of files that take ten or more, beside others on two quiet cores. Only their order matters. */
export const LONG_FILES: Readonly<Record<string, number>> = {
  'lab/real/packets.test.ts': 150,
  'sim/scale-in-seeds.test.ts': 122,
  'sim/seeds.test.ts': 103,
  'sim/instance-seeds.test.ts': 67,
  'test/attacks/integrity.test.ts': 65,
  'lab/real/sick-router.test.ts': 59,
  'test/ovs/switch-conditions.test.ts': 57,
  'test/durability/restore-kill.test.ts': 54,
  'test/cli/agent.test.ts': 54,
  'test/attacks/backup.test.ts': 53,
  'test/cli/lifecycle.test.ts': 52,
  'test/baremetal/postgres.test.ts': 50,
  'test/baremetal/processes.test.ts': 47,
  'test/cli/instances.test.ts': 42,
  'test/attacks/integrity-postgres.test.ts': 41,
  'test/kubernetes/plane.test.ts': 41,
  'test/attacks/live-agent-certificates.test.ts': 41,
  'test/kubernetes/faults.test.ts': 40,
  'test/toolchain/test-command.test.ts': 38,
  'test/ssh/reach.test.ts': 37,
  'test/attacks/foreign-store.test.ts': 37,
  'sim/replay.test.ts': 36,
  'test/cli/services.test.ts': 34,
  'test/cli/baremetal.test.ts': 34,
  'test/ovs/ovs-switch.test.ts': 32,
  'src/journal/sqlite/store.test.ts': 32,
  'test/durability/kill.test.ts': 31,
  'test/kubernetes/drains.test.ts': 30,
  'test/attacks/bulk-bodies.test.ts': 29,
  'sim/gray-seeds.test.ts': 28,
  'test/toolchain/dist.test.ts': 28,
  'test/cli/shared-credential.test.ts': 27,
  'sim/kubernetes-seeds.test.ts': 26,
  'test/kubernetes/joins-by-ssh.test.ts': 26,
  'test/postgres/contract.test.ts': 24,
  'test/kubernetes/worker-machine.test.ts': 23,
  'test/cli/readme-kubernetes.test.ts': 22,
  'test/kubernetes/removals.test.ts': 21,
  'test/acceptance/scheduling/move.test.ts': 20,
  'sim/baremetal-seeds.test.ts': 20,
  'test/attacks/data-folder.test.ts': 20,
  'test/attacks/authorisation.test.ts': 19,
  'test/api/fuzz.test.ts': 19,
  'test/ovs/dataplane-command.test.ts': 18,
  'test/cli/commands.test.ts': 18,
  'test/cli/managers-on-hosts.test.ts': 17,
  'test/attacks/agent-link.test.ts': 17,
  'test/acceptance/baremetal/inventories.test.ts': 17,
  'test/cli/readme-tour.test.ts': 17,
  'test/kubernetes/server-killed.test.ts': 17,
  'test/cli/scale-in.test.ts': 17,
  'sim/mutants/scale-in.test.ts': 16,
  'test/postgres/hosts.test.ts': 16,
  'test/attacks/history-diverged.test.ts': 15,
  'test/attacks/keys.test.ts': 14,
  'test/postgres/failover.test.ts': 14,
  'test/attacks/hostile-answers.test.ts': 13,
  'test/api/auth-matrix.test.ts': 13,
  'test/attacks/output-escapes.test.ts': 12,
  'test/kubernetes/minimal-api.test.ts': 12,
  'test/postgres/standby.test.ts': 12,
  'test/cli/waiting.test.ts': 11,
  'src/instances/instances-torture.test.ts': 10,
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => secondsOf(other) - secondsOf(one));
  }
}

function secondsOf({ moduleId }: TestSpecification): number {
  return LONG_FILES[relative(ROOT, moduleId)] ?? 0;
}
