// One cluster for a whole run, on which every file has nodes and namespaces of its own: a plane that is started here, or one that MUSTER_TEST_KUBECONFIG
// names. No test may assume who started it.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { ensureKubernetes } from './install.ts';
import { startPlane } from './plane.ts';

/** Names a kubeconfig file, of whose current context the tests may do everything. */
export const KUBECONFIG_VARIABLE = 'MUSTER_TEST_KUBECONFIG';

export interface ReadyKubernetes {
  readonly kind: 'ready';
  /** The text of one that may do everything, with nothing in files. */
  readonly kubeconfig: string;
  /** The program. */
  readonly kubectl: string;
}

type ProvidedKubernetes = ReadyKubernetes | { readonly kind: 'missing'; readonly reason: string };

declare module 'vitest' {
  interface ProvidedContext {
    readonly kubernetes: ProvidedKubernetes;
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env[KUBECONFIG_VARIABLE];
  if (given !== undefined) {
    project.provide('kubernetes', { kind: 'ready', kubeconfig: await flatten(given), kubectl: 'kubectl' });
    return undefined;
  }
  const found = await ensureKubernetes();
  if (found.kind === 'missing') {
    project.provide('kubernetes', found);
    return undefined;
  }
  const plane = await startPlane({ binDir: found.binDir });
  const kubectl = join(found.binDir, 'kubectl');
  project.provide('kubernetes', { kind: 'ready', kubeconfig: plane.adminKubeconfig, kubectl });
  return () => plane.stop();
}

/** With what it has in files inside. */
async function flatten(path: string): Promise<string> {
  const shown = ['config', 'view', '--flatten', '--minify', '--raw'];
  return (await promisify(execFile)('kubectl', ['--kubeconfig', path, ...shown])).stdout;
}
