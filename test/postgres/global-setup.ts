// One cluster for a whole test run; each file takes a database of its own in it.
import type { TestProject } from 'vitest/node';
import { startCluster } from './cluster.ts';
import { ensurePostgres } from './install.ts';

export interface ReadyPostgres {
  readonly kind: 'ready';
  readonly binDir: string;
  /** Of the database `postgres`, as a superuser. */
  readonly url: string;
}

type ProvidedPostgres = ReadyPostgres | { readonly kind: 'missing'; readonly reason: string };

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: ProvidedPostgres;
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const found = await ensurePostgres();
  if (found.kind === 'missing') {
    project.provide('postgres', found);
    return undefined;
  }
  const cluster = await startCluster({ binDir: found.binDir });
  project.provide('postgres', { kind: 'ready', binDir: found.binDir, url: cluster.url });
  return () => cluster.stop();
}
