// Where the token comes from: the command line, the environment, or the file that the first start of a
// server leaves in its data folder.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { usage } from '../exit-code.ts';

export interface TokenSources {
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** The data folder of a server on this machine. */
  readonly data: string;
  /** False keeps the token of this machine's server from being sent to another machine. */
  readonly mayReadDataFolder: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const ADMIN_TOKEN_FILE = 'admin-token';

/** Undefined when there is none: some routes need no token. */
export function findToken({ token, tokenFile, data, mayReadDataFolder, env }: TokenSources): string | undefined {
  if (token !== undefined) return demandForm(token.trim(), '--token');
  if (tokenFile !== undefined) return demandForm(readTokenFile(tokenFile), tokenFile);
  const set = env['MUSTER_TOKEN'];
  if (set !== undefined && set !== '') return demandForm(set.trim(), 'MUSTER_TOKEN');
  if (!mayReadDataFolder) return undefined;
  const path = join(data, ADMIN_TOKEN_FILE);
  const found = readIfThere(path);
  return found === undefined ? undefined : demandForm(found, path);
}

/** What cannot be in a header would be shown by the error that says so, with the secret in it. */
function demandForm(text: string, source: string): string {
  if (!/[^\x21-\x7e]/.test(text)) return text;
  throw usage(
    `What ${source} has is not a token alone: there are spaces, lines or other characters in it. Leave them out.`,
  );
}

const OTHERWISE = 'a token with --token, --token-file or MUSTER_TOKEN';

/** What to do when a server requires a token and none was found. */
export function tokenAdvice({ data, mayReadDataFolder }: Pick<TokenSources, 'data' | 'mayReadDataFolder'>): string {
  const path = join(data, ADMIN_TOKEN_FILE);
  if (!mayReadDataFolder)
    return `Give ${OTHERWISE}. The first one is in the file "${ADMIN_TOKEN_FILE}" of the server's data folder.`;
  if (existsSync(path)) return `${path} may not be read. Do this as its owner, or give ${OTHERWISE}.`;
  const another = 'If it is lost, "muster serve --new-admin-token" on that folder makes another.';
  return `There is no ${path}. Name the server's data folder with --data, or give ${OTHERWISE}. ${another}`;
}

function readTokenFile(path: string): string {
  const text = readIfThere(path);
  if (text === undefined) throw usage(`The token file ${path} does not exist or may not be read.`);
  if (text === '') throw usage(`The token file ${path} is empty.`);
  return text;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOTDIR' || code === 'EISDIR') return undefined;
    throw error;
  }
}
