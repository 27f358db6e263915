// Finds ShellCheck, and installs it where that is safe: on Debian, as root.
import { access, constants } from 'node:fs/promises';
import { aptInstall, whyNotInstall } from '../postgres/install.ts';

type ShellcheckFound = { readonly kind: 'ready' } | { readonly kind: 'missing'; readonly reason: string };

export const SHELLCHECK = '/usr/bin/shellcheck';

export async function ensureShellcheck(): Promise<ShellcheckFound> {
  if (await isThere()) return { kind: 'ready' };
  const reason = await whyNotInstall();
  if (reason !== undefined) return { kind: 'missing', reason };
  try {
    await aptInstall('shellcheck');
  } catch (error) {
    return { kind: 'missing', reason: `apt-get install shellcheck failed: ${String(error).slice(0, 300)}` };
  }
  return (await isThere()) ? { kind: 'ready' } : { kind: 'missing', reason: 'the package brought no shellcheck' };
}

async function isThere(): Promise<boolean> {
  return access(SHELLCHECK, constants.X_OK).then(
    () => true,
    () => false,
  );
}
