// What is written down of a lab before anything of it is made: its id, from which the names of all its parts follow, and who
// started it. Whoever finds the manifest of a dead owner can clear the lab away.
import { randomInt } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { idOfFolder, labNames, RUN_FOLDERS, type LabNames } from './names.ts';

export interface Manifest {
  readonly id: string;
  readonly owner: LabOwner;
}

export interface LabOwner {
  readonly pid: number;
  /** When it was started, in the words of the kernel: the same number may be another process by now. */
  readonly started: string;
}

const FILE = 'manifest.json';
/** Between making its folder and writing its manifest a lab needs much less. */
const UNWRITTEN_MS = 10_000;
const TRIES_MAX = 100;

/** A folder of its own, with the manifest in it. */
export async function beginManifest(): Promise<LabNames> {
  const started = await startOf(process.pid);
  if (started === undefined) throw new Error('/proc is needed to tell processes apart');
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const lab = labNames(
      randomInt(36 ** 4)
        .toString(36)
        .padStart(4, '0'),
    );
    if (!(await tryMakeFolder(lab.folder))) continue;
    const manifest: Manifest = { id: lab.id, owner: { pid: process.pid, started } };
    await writeFile(join(lab.folder, FILE), JSON.stringify(manifest));
    return lab;
  }
  throw new Error(`no free name for a lab in ${RUN_FOLDERS}`);
}

async function tryMakeFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

export interface FoundLab {
  readonly lab: LabNames;
  readonly ownerLives: boolean;
}

export async function findLabs(): Promise<FoundLab[]> {
  const ids = (await readdir(RUN_FOLDERS)).map(idOfFolder).filter((id) => id !== undefined);
  return Promise.all(ids.map(labNames).map(async (lab) => ({ lab, ownerLives: await isOwnerAlive(lab) })));
}

async function isOwnerAlive({ folder }: LabNames): Promise<boolean> {
  const text = await readFile(join(folder, FILE), 'utf8').catch(() => '');
  const owner = ownerIn(text);
  if (owner !== undefined) return (await startOf(owner.pid)) === owner.started;
  const made = await stat(folder).catch(() => undefined);
  return made !== undefined && Date.now() - made.ctimeMs < UNWRITTEN_MS;
}

/** A crash may have cut it off. */
function ownerIn(text: string): LabOwner | undefined {
  try {
    return (JSON.parse(text) as Manifest).owner;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Undefined when there is no such process. */
async function startOf(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The name of the program is in brackets and may hold anything: count from behind it.
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')[19];
}
