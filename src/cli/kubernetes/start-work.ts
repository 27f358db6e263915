// Starts an operation on workers of a cluster, and waits for it with `--wait`.
import type { ExitCode } from '../exit-code.ts';
import { reportStarted, type WaitOptions } from '../operations/wait.ts';
import type { Session } from '../session.ts';

interface Started {
  readonly operation: string;
  readonly workers: readonly string[];
}

interface WorkRequest {
  readonly cluster: string;
  readonly verb: 'add' | 'drain' | 'remove' | 'return';
  readonly body: object;
}

export async function startWork(
  session: Session,
  { cluster, verb, body }: WorkRequest,
  options: WaitOptions,
): Promise<ExitCode> {
  const path = `/api/v1/clusters/${encodeURIComponent(cluster)}/workers/${verb}`;
  const started = await session.client.write<Started>('POST', path, { body });
  const { operation, workers } = started;
  const what = `${verb} ${workers.length === 1 ? `worker ${workers[0]}` : `${workers.length} workers`}`;
  return reportStarted(session, { id: operation, what, answer: started }, options);
}
