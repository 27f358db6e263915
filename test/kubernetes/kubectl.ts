// kubectl, as an operator would use it.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReadyKubernetes } from './global-setup.ts';

export interface KubectlOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function runKubectl(
  { kubectl, kubeconfig }: Pick<ReadyKubernetes, 'kubectl' | 'kubeconfig'>,
  ...args: readonly string[]
): Promise<KubectlOutcome> {
  // Its cache of what the API has goes with it: planes start and end on the same ports.
  const home = await mkdtemp(join(tmpdir(), 'muster-kubectl-'));
  try {
    await writeFile(join(home, 'config'), kubeconfig, { mode: 0o600 });
    const env = { PATH: process.env['PATH'], HOME: home, KUBECONFIG: join(home, 'config') };
    return await new Promise((resolve) => {
      execFile(kubectl, args, { env }, (error, stdout, stderr) => {
        const code = typeof error?.code === 'number' ? error.code : 1;
        resolve({ code: error === null ? 0 : code, stdout, stderr });
      });
    });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
