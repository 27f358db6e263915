// Decides that adopted workers are workers no more: nothing is done in the cluster, and their Nodes and instances stay as they are. What Muster has made there itself is
// removed instead, and a cordon of Muster's is taken back first: neither would be done afterwards.
import { remove, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { removeReport } from '../drain/drain-report.ts';
import { removeLog } from '../join/model.ts';
import { WORKER, type Readiness } from '../model.ts';
import { isBusy } from './busy.ts';
import { chooseWorkers } from './chosen-workers.ts';
import { denyBusy, findCluster } from './decide.ts';
import type { StoredWorker } from './transitions.ts';

export interface ForgetWorkers {
  readonly cluster: string;
  readonly nodes: readonly string[];
}

/** Of these, its own Node is not there, and no cordon with it. */
const WITHOUT_NODE: readonly Readiness[] = ['missing', 'replaced'];

export function forgetWorkers(
  fleet: FleetReader,
  { cluster: name, nodes }: ForgetWorkers,
): Decision<readonly string[]> {
  const cluster = findCluster(fleet, name);
  if ('code' in cluster) return refuse(cluster);
  const workers = chooseWorkers(fleet, { cluster: name, states: [], takesControlPlane: true }, { nodes });
  if ('code' in workers) return refuse(workers);
  for (const worker of workers) {
    const denied = denyForgetting(fleet, worker);
    if (denied !== undefined) return refuse(denied);
  }
  const gone = workers.flatMap(({ id }) => [remove(WORKER, id), ...removeReport(fleet, id), ...removeLog(fleet, id)]);
  return accept(
    gone,
    workers.map(({ id }) => id),
  );
}

function denyForgetting(fleet: FleetReader, worker: StoredWorker): Refusal | undefined {
  const { id, doc } = worker;
  if (isBusy(fleet, doc)) return denyBusy(worker);
  if (doc.isAdopted !== true) return denyJoined(id);
  return doc.cordon === undefined || WITHOUT_NODE.includes(doc.readiness) ? undefined : denyCordoned(id);
}

function denyJoined(worker: string): Refusal {
  const message = `Worker "${worker}" was joined by Muster: forgotten, its Node and its instance would be nobody's. Take it out with "muster workers remove ${worker}".`;
  return { kind: 'conflict', code: 'worker-not-adopted', message, facts: { worker } };
}

function denyCordoned(worker: string): Refusal {
  const message = `Worker "${worker}" is cordoned by Muster, and nobody would take that back. Give it back first with "muster workers return ${worker}".`;
  return { kind: 'conflict', code: 'worker-cordoned', message, facts: { worker } };
}
