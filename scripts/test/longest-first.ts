// The order of test files: those that take long come first, so that none of them runs alone at the end. Vitest knows by itself how long
// a file took before, but not in a new clone.
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = new URL('../..', import.meta.url).pathname;

/** Seconds on two quiet cores, of files that take ten or more. Only their order matters. */
export const LONG_FILES: Readonly<Record<string, number>> = {
  'lab/real/packets.test.ts': 152,
  'sim/seeds.test.ts': 99,
  'sim/scale-in-seeds.test.ts': 98,
  'test/attacks/integrity.test.ts': 75,
  'sim/mutants/scale-in.test.ts': 74,
  'test/ovs/switch-conditions.test.ts': 54,
  'test/durability/restore-kill.test.ts': 53,
  'lab/real/sick-router.test.ts': 51,
  'sim/instance-seeds.test.ts': 50,
  'test/cli/agent.test.ts': 48,
  'test/cli/lifecycle.test.ts': 41,
  'test/kubernetes/plane.test.ts': 41,
  'src/journal/sqlite/store.test.ts': 39,
  'test/attacks/live-agent-certificates.test.ts': 39,
  'test/durability/kill.test.ts': 37,
  'test/agent/http-agents.test.ts': 37,
  'test/cli/instances.test.ts': 36,
  'sim/replay.test.ts': 35,
  'test/toolchain/test-command.test.ts': 31,
  'test/cli/services.test.ts': 31,
  'test/attacks/backup.test.ts': 28,
  'test/kubernetes/worker-machine.test.ts': 28,
  'test/attacks/foreign-store.test.ts': 27,
  'test/attacks/integrity-postgres.test.ts': 27,
  'test/ovs/ovs-switch.test.ts': 26,
  'sim/mutants/mutants.test.ts': 20,
  'test/attacks/data-folder.test.ts': 19,
  'test/ovs/dataplane-command.test.ts': 19,
  'test/toolchain/dist.test.ts': 17,
  'test/cli/scale-in.test.ts': 16,
  'test/postgres/contract.test.ts': 15,
  'test/attacks/agent-link.test.ts': 14,
  'test/attacks/keys.test.ts': 14,
  'test/cli/commands.test.ts': 14,
  'sim/mutants/baremetal.test.ts': 13,
  'sim/mutants/instances.test.ts': 13,
  'sim/kubernetes-seeds.test.ts': 20,
  'sim/baremetal-seeds.test.ts': 13,
  'test/acceptance/scheduling/move.test.ts': 13,
  'test/api/fuzz.test.ts': 13,
  'test/postgres/failover.test.ts': 11,
  'test/attacks/hostile-answers.test.ts': 10,
  'test/cli/waiting.test.ts': 10,
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => secondsOf(other) - secondsOf(one));
  }
}

function secondsOf({ moduleId }: TestSpecification): number {
  return LONG_FILES[relative(ROOT, moduleId)] ?? 0;
}
