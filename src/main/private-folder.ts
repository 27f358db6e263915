// A data folder belongs to its owner alone: it holds tokens, keys and the journal. Folders that others may write to, files of others, and
// planted links are refused before anything is opened; modes of our own files are tightened.
import { chmodSync, lstatSync, readdirSync, realpathSync, statSync, type Stats } from 'node:fs';
import { join, resolve } from 'node:path';
import { StartFailure } from './start-failure.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** Read, write and search for the group and for others. */
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;

/** Created by mkfs at the root of a file system, for root alone; not ours. */
const NOT_OURS = new Set(['lost+found']);

const ROOT = 0;

/** From here on, everything that this process writes is for its owner alone, whatever umask it was started with. */
export function writePrivateFilesOnly(): void {
  process.umask(OTHERS);
}

/** Undefined where the operating system has no owners and modes. */
function ownUid(): number | undefined {
  return process.getuid?.();
}

/** For an existing folder. `option` is its name on the command line. */
export function checkPrivateFolder(folder: string, option: '--data' | '--state'): void {
  const uid = ownUid();
  if (uid === undefined) return;
  // Without a trailing slash, which would follow the very link that is checked for.
  const path = resolve(folder);
  if (lstatSync(path).isSymbolicLink()) refuseLink(path, uid, option);
  const stats = statSync(path);
  refuseOtherOwner(path, stats, { uid, isFolder: true });
  tightenFolder(path, stats);
  for (const name of readdirSync(path)) if (!NOT_OURS.has(name)) checkEntry(join(path, name), uid);
}

/** systemd's DynamicUser= reaches a state folder through a link made by root, which is trusted anyway. */
function refuseLink(path: string, uid: number, option: string): void {
  if (uid !== ROOT && lstatSync(path).uid === ROOT) return;
  throw new StartFailure(
    `${path} is a symbolic link: whoever made it decides where secrets are written. ` +
      `Name the folder itself, with ${option} ${realPathOf(path)}, or remove the link.`,
  );
}

function refuseOtherOwner(
  path: string,
  stats: Stats,
  ours: { readonly uid: number; readonly isFolder: boolean },
): void {
  if (stats.uid === ours.uid) return;
  const recursive = ours.isFolder ? '-R ' : '';
  throw new StartFailure(
    `${path} belongs to user ${stats.uid}, and this program runs as user ${ours.uid}. ` +
      `Run it as user ${stats.uid}, or give it the ${ours.isFolder ? 'folder' : 'file'}: chown ${recursive}${ours.uid} ${quoteForShell(path)}`,
  );
}

function tightenFolder(path: string, { mode }: Stats): void {
  if ((mode & OTHERS) === 0) return;
  // An empty folder that others can only read has revealed nothing: a fresh volume, or one made by mkdir.
  if ((mode & OTHERS_WRITE) === 0 && readdirSync(path).length === 0) {
    chmodSync(path, FOLDER_MODE);
    return;
  }
  const may = (mode & OTHERS_WRITE) === 0 ? 'read' : 'write to';
  throw new StartFailure(
    `Other users of this machine may ${may} ${path} (mode ${octal(mode)}), which holds tokens and the journal. ` +
      `Check whether anything in it is not yours, then run: chmod 700 ${quoteForShell(path)}`,
  );
}

function checkEntry(path: string, uid: number): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  // Another server that shares the folder may have renamed it meanwhile.
  if (stats === undefined) return;
  if (!stats.isFile() && !stats.isDirectory()) {
    const what = stats.isSymbolicLink() ? `a symbolic link to ${realPathOf(path)}` : 'not a file';
    throw new StartFailure(
      `${path} is ${what}, and Muster makes no such thing: it may have been planted. Find out who made it, then remove it.`,
    );
  }
  refuseOtherOwner(path, stats, { uid, isFolder: stats.isDirectory() });
  // An earlier version left the mode of some files to the umask.
  if ((stats.mode & OTHERS) !== 0) chmodSync(path, stats.isDirectory() ? FOLDER_MODE : FILE_MODE);
}

function realPathOf(path: string): string {
  try {
    return quoteForShell(realpathSync(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'nothing';
    throw error;
  }
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}

/** Quoted for pasting into a shell. */
function quoteForShell(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
