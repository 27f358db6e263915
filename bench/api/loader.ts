// Starts the process that sends requests, and gives it one job after the other.
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { BenchScope } from '../scope.ts';
import { spawnNode } from '../server-process.ts';
import type { LoadJob, LoadResult } from './load-client.ts';

export type Loader = (job: LoadJob) => Promise<LoadResult>;

export function startLoader(scope: BenchScope): Loader {
  const child = spawnNode(scope, [resolve(import.meta.dirname, 'load-client.ts')], 'ipc');
  return async (job) => {
    scope.check();
    child.send(job);
    const [message] = (await once(child, 'message', { signal: scope.signal })) as [
      { readonly result?: LoadResult; readonly failed?: string },
    ];
    if (message.result === undefined) throw new Error(message.failed);
    return message.result;
  };
}
