// Finds strace, and installs it where that is safe: on Debian, as root.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { aptInstall, whyNotInstall } from '../postgres/install.ts';

const run = promisify(execFile);

export type StraceFound = { readonly kind: 'ready' } | { readonly kind: 'missing'; readonly reason: string };

export async function ensureStrace(): Promise<StraceFound> {
  if (await canTrace()) return { kind: 'ready' };
  const reason = await whyNotInstall();
  if (reason !== undefined) return { kind: 'missing', reason };
  try {
    await aptInstall('strace');
  } catch (error) {
    return { kind: 'missing', reason: `apt-get install strace failed: ${String(error).slice(0, 300)}` };
  }
  return (await canTrace()) ? { kind: 'ready' } : { kind: 'missing', reason: 'tracing is not allowed here' };
}

/** A container may have the program and still forbid it. */
async function canTrace(): Promise<boolean> {
  return run('strace', ['-e', 'trace=none', 'true']).then(
    () => true,
    () => false,
  );
}
