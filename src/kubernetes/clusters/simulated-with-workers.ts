// A simulated cluster whose Nodes are workers from the beginning, for demonstrations. Pure: what it makes is what the two requests for it would make.
import { runTrial, type Change, type FleetReader, type ChangeNote } from '../../fleet/index.ts';
import { FleetObjects } from '../cluster-api/simulated/fleet-objects.ts';
import { SimulatedCalls } from '../cluster-api/simulated/calls.ts';
import type { SimulatedContents } from '../cluster-api/simulated/contents.ts';
import { adoptNodes } from '../workers/adopt.ts';
import { registerCluster } from './decide.ts';

export interface SimulatedWithWorkers extends ChangeNote {
  readonly name: string;
  readonly contents: SimulatedContents;
}

/** Nothing when there is a cluster of that name. */
export function composeSimulatedCluster(
  fleet: FleetReader,
  { name, contents, by, nowMs }: SimulatedWithWorkers,
): Change[] {
  return runTrial(fleet, (trial) => {
    const registered = registerCluster(trial, { name, kind: 'simulated', simulated: contents }, { by, nowMs });
    if (registered.kind === 'refuse') return [];
    trial.add(registered.changes);
    const seen = new SimulatedCalls(new FleetObjects(trial, name), nowMs).listNodes();
    const adopted = adoptNodes(trial, {
      ...{ cluster: name, by, nowMs, canSeeInstance: () => true },
      nodes: seen.map(({ name: node }) => ({ node })),
      seen: new Map(seen.map((node) => [node.name, node])),
    });
    return [...registered.changes, ...(adopted.kind === 'accept' ? adopted.changes : [])];
  });
}
