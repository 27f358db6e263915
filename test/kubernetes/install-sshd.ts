// Finds sshd, and installs it where that is safe: on Debian, as root. No service of the system is started.
import { access, constants } from 'node:fs/promises';
import { withoutStartingServices } from '../ovs/install.ts';
import { aptInstall, whyNotInstall } from '../postgres/install.ts';

export type SshdFound = { readonly kind: 'ready' } | { readonly kind: 'missing'; readonly reason: string };

export const SSHD = '/usr/sbin/sshd';

export async function ensureSshd(): Promise<SshdFound> {
  if (await isThere()) return { kind: 'ready' };
  const reason = await whyNotInstall();
  if (reason !== undefined) return { kind: 'missing', reason };
  try {
    await withoutStartingServices(() => aptInstall('openssh-server'));
  } catch (error) {
    return { kind: 'missing', reason: `apt-get install openssh-server failed: ${String(error).slice(0, 300)}` };
  }
  return (await isThere()) ? { kind: 'ready' } : { kind: 'missing', reason: 'the package brought no sshd' };
}

async function isThere(): Promise<boolean> {
  return access(SSHD, constants.X_OK).then(
    () => true,
    () => false,
  );
}
