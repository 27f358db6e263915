// The script that is sent to machines of clusters that have none of their own: the one that comes with Muster, which is read at its first use.
import { readFileSync } from 'node:fs';

const FILE = new URL('../../../../examples/kubernetes/worker.sh', import.meta.url);

let text: string | undefined;

export function readDefaultScript(): string {
  text ??= readFileSync(FILE, 'utf8');
  return text;
}
