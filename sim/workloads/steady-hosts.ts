// A fleet that keeps what runs on it: instances stay, and hosts that were drained come back into service after a while. Faults alone take hosts
// out of it, so that what a drain waits for can be assessed.
import { idOf } from '../../src/fleet/index.ts';
import { HOST, recoverHosts } from '../../src/hosts/index.ts';
import { createInstances, INSTANCE, type Instance } from '../../src/instances/index.ts';
import { NETWORK } from '../../src/network/index.ts';
import { OPERATION } from '../../src/operations/index.ts';
import type { World } from '../world/world.ts';
import { plain, type Decide } from './commands.ts';
import { PROJECT } from './instance-setup.ts';
import { checkScaleInAtRest } from './scale-in-at-rest.ts';
import { removeEverything, leftoverHosts } from './scale-in-cleanup.ts';
import { ScaleInSetup } from './scale-in-setup.ts';
import { giveTokens } from './scale-in.ts';
import type { Workload } from './workload.ts';

const NAMES = ['k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7', 'k8'];
/** Longer than what is assessed there takes. */
const AWAY_MS = 40_000;

interface RequestContext {
  readonly by: string;
  readonly place: Instance['place'];
}

/** A small instance with a port in every network that is not external. */
export function createConnected(world: World, name: string, { by, place }: RequestContext): Decide {
  const networks = [...world.truth.all(NETWORK)].flatMap(({ id, doc }) => (doc.external ? [] : [{ network: id }]));
  return (fleet, nowMs, { ids, hasCredentials }) => {
    const how = { operation: idOf(OPERATION, `op-${by}`), by, nowMs, deadlineMs: 400_000 };
    const portIds = networks.map(() => ids.next('port'));
    const what = { name, count: 1, minCount: 1, flavor: 'tiny', project: PROJECT, place, attemptsMax: 4 };
    return createInstances(fleet, {
      ...what,
      networks,
      ...how,
      portIds,
      hasCredentials: hasCredentials(),
      admin: true,
    });
  };
}

async function run(world: World, ready: Promise<void>): Promise<void> {
  await ready;
  const { truth } = world;
  const operator = world.newOperator('keeper');
  const awaySinceMs = new Map<string, number>();
  for (let count = 1; world.isTroubled; count += 1) {
    const by = `keeper-${count}`;
    const name = NAMES.find((one) => truth.get(INSTANCE, idOf(INSTANCE, one)) === undefined);
    const back = hostLongAway(world, awaySinceMs);
    if (name !== undefined) await operator.ask(plain(by, createConnected(world, name, { by, place: {} })));
    else if (back !== undefined) await operator.ask(plain(by, recover(back, by)));
    else await operator.pause(world.rng.between(200, 2000));
  }
}

function hostLongAway({ truth, scheduler: { nowMs } }: World, sinceMs: Map<string, number>): string | undefined {
  for (const { id, doc } of truth.all(HOST)) {
    const isAway = doc.state === 'draining' || doc.state === 'drained';
    if (isAway && !sinceMs.has(id)) sinceMs.set(id, nowMs);
    if (!isAway) sinceMs.delete(id);
  }
  return [...sinceMs].find(([, fromMs]) => nowMs - fromMs > AWAY_MS)?.[0];
}

function recover(host: string, by: string): Decide {
  return (fleet, nowMs) =>
    recoverHosts(fleet, { hosts: [host], failBack: false, operation: idOf(OPERATION, `op-${by}`), by, nowMs });
}

export const steadyHosts: Workload = {
  name: 'steady-hosts',
  start: (world) => {
    const setup = new ScaleInSetup(world);
    const ready = setup.create();
    return {
      ready,
      done: run(world, ready),
      atRest: () => checkScaleInAtRest(world),
      undo: () => removeEverything(world, () => giveTokens(world, setup)),
      atEnd: () => leftoverHosts(world),
    };
  },
};
