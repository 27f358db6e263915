// Which cluster a command is about: the one that it names, or that of the first worker.
import { usage } from '../exit-code.ts';

export function clusterOf(workers: readonly string[], { cluster }: { readonly cluster?: string }): string {
  const [name, node] = workers[0]?.split('.') ?? [];
  const said = cluster ?? (node === undefined ? undefined : name);
  if (said !== undefined && said !== '') return said;
  throw usage('Which cluster? Name workers as "muster workers list" does (edge.worker-1), or say --cluster.');
}
