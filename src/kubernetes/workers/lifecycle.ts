// The three things that make a machine a worker and make it none again, each begun by one decision of its own: join, drain, leave. What they may take (deadlines, what is evicted,
// whether instances stay) is in the request, as values. Requests of callers begin them by this, and other modules do by its service key.
import type { FleetReader } from '../../fleet/index.ts';
import type { Builders } from '../../instances/index.ts';
import type { Decision } from '../../journal/index.ts';
import { addWorkers, joinInstances, type AddWorkers, type JoinInstances } from '../join/decide.ts';
import { drainWorkers, removeWorkers, type DrainRequest, type RemoveRequest, type WorkersAnswer } from './decide.ts';

export interface WorkerLifecycle {
  /** Instances that are there, or that are built for it, become workers that are in service. */
  join(fleet: FleetReader, request: AddWorkers | JoinInstances): Decision<WorkersAnswer>;
  /** Their pods leave within their budgets; they stay, cordoned. */
  drain(fleet: FleetReader, request: DrainRequest): Decision<WorkersAnswer>;
  /** They are drained where they are not yet, and are no workers any more. */
  leave(fleet: FleetReader, request: RemoveRequest): Decision<WorkersAnswer>;
}

export function workerLifecycle(builders: Builders): WorkerLifecycle {
  return {
    join: (fleet, request) =>
      'workers' in request ? joinInstances(fleet, request) : addWorkers(fleet, request, builders),
    drain: drainWorkers,
    leave: removeWorkers,
  };
}
