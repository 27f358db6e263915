// A data folder is its owner's alone: it holds tokens, keys and the journal. What others may write to, what belongs to others and
// what was planted as a link is refused before anything in it is opened; modes of files that are ours are tightened.
import { chmodSync, lstatSync, readdirSync, realpathSync, statSync, type Stats } from 'node:fs';
import { join, resolve } from 'node:path';
import { StartFailure } from './start-failure.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** Read, write and search for the group and for everybody else. */
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;

/** What mkfs makes at the root of a file system, for root alone; nothing of ours. */
const NOT_OURS = new Set(['lost+found']);

const ROOT = 0;

/** Everything that this process writes from here on is for its owner alone, whatever umask it was started with. */
export function writePrivateFilesOnly(): void {
  process.umask(OTHERS);
}

/** Undefined where the operating system has no owners and modes. */
function ownUid(): number | undefined {
  return process.getuid?.();
}

/** For a folder that exists. `option` is how the command line names it. */
export function checkPrivateFolder(folder: string, option: '--data' | '--state'): void {
  const uid = ownUid();
  if (uid === undefined) return;
  // Without a slash at its end, which would follow the link that is looked for.
  const path = resolve(folder);
  if (lstatSync(path).isSymbolicLink()) refuseLink(path, uid, option);
  const stats = statSync(path);
  refuseOtherOwner(path, stats, { uid, isFolder: true });
  tightenFolder(path, stats);
  for (const name of readdirSync(path)) if (!NOT_OURS.has(name)) checkEntry(join(path, name), uid);
}

/** systemd's DynamicUser= reaches a state folder through a link that root has made: root may do anything anyway. */
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
  // An empty folder that others only read has given nothing away: a fresh volume, or one made by mkdir.
  if ((mode & OTHERS_WRITE) === 0 && readdirSync(path).length === 0) {
    chmodSync(path, FOLDER_MODE);
    return;
  }
  const may = (mode & OTHERS_WRITE) === 0 ? 'read' : 'write to';
  throw new StartFailure(
    `Other users of this machine may ${may} ${path} (mode ${octal(mode)}), which holds tokens and the journal. ` +
      `Look whether anything in it is not yours, then: chmod 700 ${quoteForShell(path)}`,
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
  // An earlier version left some files to the umask.
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

/** To be pasted into a shell. */
function quoteForShell(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
