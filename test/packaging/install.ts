// Finds programs that check what is shipped, and installs their Debian packages where that is safe. It never starts a
// service of the system.
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withoutStartingServices } from '../ovs/install.ts';
import { aptInstall, whyNotInstall } from '../postgres/install.ts';

export interface Tool {
  /** By its name, or a file of a package that brings no program by its whole path. */
  readonly program: string;
  /** The Debian package that brings it. */
  readonly name: string;
}

export type ToolsFound = { readonly kind: 'ready' } | { readonly kind: 'missing'; readonly reason: string };

const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];

export async function ensureTools(tools: readonly Tool[]): Promise<ToolsFound> {
  for (const { program, name } of tools) {
    if (await isThere(program)) continue;
    const reason = await whyNotInstall();
    if (reason !== undefined) return { kind: 'missing', reason: `${program} of package ${name}: ${reason}` };
    try {
      await withoutStartingServices(() => aptInstall(name));
    } catch (error) {
      return { kind: 'missing', reason: `apt-get install ${name} failed: ${String(error).slice(0, 300)}` };
    }
    if (!(await isThere(program))) return { kind: 'missing', reason: `package ${name} brought no ${program}` };
  }
  return { kind: 'ready' };
}

async function isThere(program: string): Promise<boolean> {
  if (program.startsWith('/'))
    return access(program).then(
      () => true,
      () => false,
    );
  const folders = [...(process.env['PATH'] ?? '').split(':'), ...SYSTEM_FOLDERS].filter((folder) => folder !== '');
  const found = await Promise.allSettled(folders.map((folder) => access(join(folder, program), constants.X_OK)));
  return found.some((one) => one.status === 'fulfilled');
}

/** Where a tool is missing the suite says so by name; in CI that is a failure. */
export async function withTools(tools: readonly Tool[], suite: () => void): Promise<void> {
  const found = await ensureTools(tools);
  if (found.kind === 'ready') return suite();
  const title = `needs ${tools.map(({ program }) => program).join(', ')}: ${found.reason}`;
  if (process.env['CI'] === 'true') test(title, () => expect.fail(found.reason));
  else test.skip(title);
}
