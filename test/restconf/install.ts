// Finds yanglint, and installs it where that is safe: on Debian, as root.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { aptInstall, whyNotInstall } from '../postgres/install.ts';

const run = promisify(execFile);

export type YanglintFound = { readonly kind: 'ready' } | { readonly kind: 'missing'; readonly reason: string };

export async function ensureYanglint(): Promise<YanglintFound> {
  if (await isThere()) return { kind: 'ready' };
  const reason = await whyNotInstall();
  if (reason !== undefined) return { kind: 'missing', reason };
  try {
    await aptInstall('libyang-tools');
  } catch (error) {
    return { kind: 'missing', reason: `apt-get install libyang-tools failed: ${String(error).slice(0, 300)}` };
  }
  return (await isThere()) ? { kind: 'ready' } : { kind: 'missing', reason: 'the package brought no yanglint' };
}

async function isThere(): Promise<boolean> {
  return run('yanglint', ['--version']).then(
    () => true,
    () => false,
  );
}
