// Decides that a manager inside a server is halted, and continued: how an operator tries out what the loss of one costs. It must never change what the
// manager is: whether it is lost, its lease says.
import { put, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { MANAGER, type Manager } from '../model.ts';
import { managerId, unknownManager, type StoredManager } from './decide.ts';

interface PauseManager {
  readonly manager: string;
  readonly by: string;
  readonly nowMs: number;
}

/** Nothing changes for one that is paused already. */
export function pauseManager(fleet: FleetReader, { manager, by, nowMs }: PauseManager): Decision<Manager> {
  const stored = fleet.get(MANAGER, managerId(manager));
  if (stored === undefined) return refuse(unknownManager(manager));
  if (stored.doc.embedded === undefined) return refuse(notEmbedded(stored.id));
  if (stored.doc.state === 'stopped') return refuse(notRunning(stored.id));
  return stored.doc.paused === undefined
    ? edit(stored, { ...stored.doc, paused: { by, atMs: nowMs } }, { by, nowMs })
    : accept([], stored.doc);
}

export function resumeManager(fleet: FleetReader, { manager, by, nowMs }: PauseManager): Decision<Manager> {
  const stored = fleet.get(MANAGER, managerId(manager));
  if (stored === undefined) return refuse(unknownManager(manager));
  const { paused, ...doc } = stored.doc;
  return paused === undefined ? accept([], stored.doc) : edit(stored, doc, { by, nowMs });
}

/** Whether this process of a manager is the one that is halted. */
export function isPaused(fleet: FleetReader, manager: string, holder: string): boolean {
  const doc = fleet.get(MANAGER, managerId(manager))?.doc;
  return doc?.paused !== undefined && doc.holder === holder;
}

function edit(
  { id }: StoredManager,
  doc: Manager,
  { by, nowMs }: Pick<PauseManager, 'by' | 'nowMs'>,
): Decision<Manager> {
  const edited: Manager = { ...doc, changedBy: by, changedAtMs: nowMs };
  return accept([put(MANAGER, id, edited)], edited);
}

function notEmbedded(name: string): Refusal {
  const message = `Manager "${name}" is a program of its own, which no server can pause. Send its process SIGSTOP to pause it, and SIGCONT to resume it.`;
  return { kind: 'conflict', code: 'manager-not-embedded', message, facts: { manager: name } };
}

function notRunning(name: string): Refusal {
  const message = `Manager "${name}" has stopped: there is no process to pause. Start its server with "--manager ${name}".`;
  return { kind: 'conflict', code: 'manager-stopped', message, facts: { manager: name } };
}
