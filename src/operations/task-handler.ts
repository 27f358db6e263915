// What an agent does for the tasks of one kind. Modules declare handlers for the agent's process (`composition/node-module.ts`), the agent
// calls them; what a task means for its operation is said by the operation kind, on the server.
import type { Task, TaskFacts } from './kind.ts';

/** Carries out one task. It may be called again for the same task after a crash, and answers the same then. */
export type TaskHandler = (task: Task, fence: TaskFence) => TaskResult | Promise<TaskResult>;

/** By the kind of the tasks. */
export type TaskHandlers = Readonly<Record<string, TaskHandler>>;

export interface TaskResult {
  readonly outcome: 'done' | 'failed';
  readonly problems?: readonly string[];
  readonly facts?: TaskFacts;
}

/** What an effect on the machine is given beside its order: the lease under which it was ordered, and its deadline. */
export interface TaskFence {
  /** Of the view that the task was in. */
  readonly stamp: { readonly journalId: string; readonly leaseEpoch: number; readonly revision: number };
  /** The host that this machine is. */
  readonly host: string;
  /** What the agent on it knows: it does nothing that was learnt later. */
  readonly serviceVersion: number;
  readonly signal: AbortSignal;
}
