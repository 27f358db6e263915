// The first admin token: created when the fleet has no valid admin token, and written to a file that only its owner can read.
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createToken, hasAdmin, newSecret } from '../access/index.ts';
import type { FleetReader } from '../fleet/index.ts';
import { accept, NotHolder, type Clock, type Decision, type Ids, type Journal } from '../journal/index.ts';
import { hashSecret } from './authenticate.ts';

export const ADMIN_TOKEN_FILE = 'admin-token';

export interface FirstTokenOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly dataFolder: string;
  /** Creates one although others are valid: for an owner of the machine who has lost the token. */
  readonly force?: boolean;
}

/** Answers the file's path when a token was made. The caller holds the deciding lease. */
export async function ensureAdminToken(options: FirstTokenOptions): Promise<string | undefined> {
  const { journal, clock, ids, dataFolder, force = false } = options;
  const nowMs = clock.nowMs();
  const isNeeded = (fleet: FleetReader): boolean => force || !hasAdmin(fleet, nowMs);
  if (!isNeeded(journal.fleet)) return undefined;
  const { id, secret, hash } = newSecret({ ids, hash: hashSecret });
  const path = join(dataFolder, ADMIN_TOKEN_FILE);
  // The file is written first: a token whose secret is lost would keep the next start from creating another.
  await writePrivateFile(path, `${secret}\n`, dataFolder);
  const token = { id, name: 'admin', role: 'admin' as const, hash, createdAtMs: nowMs, createdBy: 'first start' };
  const submitted = journal.submit({
    by: 'first start',
    why: force ? 'requested at the start of the server' : 'no valid admin token',
    decide: (fleet): Decision<unknown> => (isNeeded(fleet) ? createToken(fleet, token) : accept([], undefined)),
  });
  const outcome = await submitted.catch(async (error: unknown) => {
    // The commit certainly failed: remove the file, whose token is not valid.
    if (error instanceof NotHolder) await rm(path);
    throw error;
  });
  if (outcome.kind === 'accepted' && outcome.answer !== undefined) return path;
  await rm(path);
  return undefined;
}

/** Never readable by others, not even for a moment, and never half written. */
async function writePrivateFile(path: string, text: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = `${path}.new`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
