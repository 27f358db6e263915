// Takes a lab away, by its id alone: its processes, its namespaces with everything that is plugged into them, its folder. Doing it
// twice, or on what is half made, is the same.
import { readdir, rm } from 'node:fs/promises';
import { run } from '../command.ts';
import { findLabs } from './manifest.ts';
import { idOfNamespace, labNames, type LabNames } from './names.ts';
import { killAll, processesOf } from './processes.ts';

const NAMESPACES = '/run/netns';
/** An agent that is being ended may just have started a program. */
const ROUNDS_MAX = 5;

export async function cleanLab(lab: LabNames): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const pids = await processesOf(lab.folder, await namespacesOf(lab));
    if (pids.length === 0) break;
    await killAll(pids);
  }
  const namespaces = await namespacesOf(lab);
  if (namespaces.length > 0) {
    const lines = namespaces.map((name) => `netns del ${name}\n`).join('');
    await run(['ip', '-force', '-batch', '-'], lines).catch(async (error: unknown) => {
      // Another one may have been faster; what is still there is a real failure.
      if ((await namespacesOf(lab)).length > 0) throw error;
    });
  }
  await rm(lab.folder, { recursive: true, force: true });
}

/** Clears away what crashed labs left behind, and says which. */
export async function cleanDeadLabs(): Promise<string[]> {
  const found = await findLabs();
  const alive = new Set(found.filter(({ ownerLives }) => ownerLives).map(({ lab }) => lab.id));
  // A folder is made before any namespace: those without one are left from a lab whose folder was removed by hand.
  const orphans = (await listNamespaces()).map(idOfNamespace).filter((id) => id !== undefined);
  const dead = new Set([...found.map(({ lab }) => lab.id), ...orphans].filter((id) => !alive.has(id)));
  for (const id of dead) await cleanLab(labNames(id));
  return [...dead].sort();
}

async function namespacesOf(lab: LabNames): Promise<string[]> {
  return (await listNamespaces()).filter((name) => name.startsWith(lab.prefix));
}

async function listNamespaces(): Promise<string[]> {
  return readdir(NAMESPACES).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []; // none was ever made
    throw error;
  });
}
