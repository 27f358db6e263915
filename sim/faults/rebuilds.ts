// Operators who force down a healthy host and have its instances rebuilt elsewhere, where there is no capacity.
import { idOf, mergeChanges, runTrial, type Change, type FleetReader } from '../../src/fleet/index.ts';
import { clearForceDown, disableHost, enableHost, forceDownHost, HOST } from '../../src/hosts/index.ts';
import { INSTANCE, rebuildInstances } from '../../src/instances/index.ts';
import { accept, refuse, type Decision } from '../../src/journal/index.ts';
import { OPERATION } from '../../src/operations/index.ts';
import { plain } from '../workloads/commands.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

type Step = (fleet: FleetReader) => Decision<unknown>;

/** Several decisions in one commit: each sees the changes of the earlier ones. Refused ones change nothing. */
function combineDecisions(fleet: FleetReader, steps: readonly Step[]): Change[] {
  return runTrial(fleet, (trial) => {
    const changes: Change[] = [];
    for (const step of steps) {
      const decision = step(trial);
      if (decision.kind === 'refuse') continue;
      trial.add(decision.changes);
      changes.push(...decision.changes);
    }
    return mergeChanges(changes);
  });
}

export const rebuildWithNoPlace: Fault = {
  name: 'rebuild-with-no-place',
  weight: 4,
  strike: (world) => {
    const running = [...world.truth.all(INSTANCE)].filter(
      ({ doc }) =>
        doc.state === 'active' && world.machines.some(({ name, incarnation }) => name === doc.host && incarnation),
    );
    if (running.length === 0) return undefined;
    const { id, doc } = world.rng.pick(running);
    const host = doc.host ?? '';
    const others = [...world.truth.all(HOST)].map(({ id: other }): string => other).filter((other) => other !== host);
    const forMs = world.rng.between(1000, 20_000);
    void rebuildWithoutPlace(world, { id, host, others, forMs, tag: `nowhere-${world.requests.length}` });
    return `${id} of ${host}`;
  },
};

interface NoPlaceRebuild {
  readonly id: string;
  readonly host: string;
  readonly others: readonly string[];
  readonly forMs: number;
  readonly tag: string;
}

async function rebuildWithoutPlace(world: World, { id, host, others, forMs, tag: by }: NoPlaceRebuild): Promise<void> {
  const operator = world.newOperator(by);
  await operator.ask(
    plain(by, (fleet, nowMs) => {
      const operation = idOf(OPERATION, `op-${by}`);
      const rebuild = { ids: [id], operation, by, nowMs, deadlineMs: 400_000 };
      const at = { reason: by, by, nowMs };
      const changes = combineDecisions(fleet, [
        ...others.map(
          (other): Step =>
            (trial) =>
              disableHost(trial, { id: other, ...at }),
        ),
        (trial) => forceDownHost(trial, { id: host, ...at }),
        (trial) => rebuildInstances(trial, rebuild),
      ]);
      const hasStarted = changes.some(({ kind }) => kind === OPERATION.name);
      if (hasStarted) return accept(changes, null);
      return refuse({ kind: 'conflict', code: 'nothing-to-rebuild', message: `${id} is elsewhere by now` });
    }),
  );
  await operator.pause(forMs);
  const mended = `${by}-mended`;
  await operator.ask(
    plain(mended, (fleet, nowMs) => {
      const steps = [
        ...others.map(
          (other): Step =>
            (trial) =>
              enableHost(trial, { id: other, by: mended, nowMs }),
        ),
        (trial: FleetReader) => clearForceDown(trial, { id: host, by: mended, nowMs }),
      ];
      return accept(combineDecisions(fleet, steps), null);
    }),
  );
}
