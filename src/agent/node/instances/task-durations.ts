// How long a simulated machine takes for its tasks. The same instance takes the same time wherever and whenever.
import type { InstanceTask } from './instance-task-args.ts';

export interface TaskTime {
  readonly task: InstanceTask;
  readonly instance: string;
  /** How it moves; of tasks that are part of a move. */
  readonly kind?: 'live' | 'cold';
  readonly memoryMiB: number;
  readonly diskGiB: number;
}

export type TaskDuration = number | ((of: TaskTime) => number);
export type TaskDurations = Readonly<Partial<Record<InstanceTask, TaskDuration>>>;

export function durationMs(durations: TaskDurations, of: TaskTime): number {
  const duration = durations[of.task] ?? 0;
  return typeof duration === 'number' ? duration : duration(of);
}

/** From here on more memory takes no longer: a person who looks on would only wait. */
const LARGE_MIB = 65_536;

/** For demonstrations: long enough to be seen, short enough to be waited for. */
export const DEMO_TASK_DURATIONS: TaskDurations = {
  build: ({ instance }) => 1000 + 1000 * hashFraction(instance),
  destroy: 500,
  prepare: 300,
  // A live one copies memory while it runs, so its size counts; a cold one is stopped, copied and started.
  migrate: ({ instance, kind, memoryMiB }) => {
    const size = Math.min(1, memoryMiB / LARGE_MIB);
    return 2000 + 1000 * (kind === 'live' ? (size + hashFraction(instance)) / 2 : hashFraction(instance));
  },
  activate: 200,
};

const FNV_OFFSET = 0x81_1c_9d_c5;
const FNV_PRIME = 0x01_00_01_93;

/** From 0 up to, not including, 1, by the instance's id. */
function hashFraction(instance: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < instance.length; at += 1) {
    hash = Math.imul(hash ^ instance.charCodeAt(at), FNV_PRIME);
  }
  return (hash >>> 0) / 2 ** 32;
}
