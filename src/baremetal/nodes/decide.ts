// Decides on single nodes: create, edit, maintenance, confirm that one is clean, delete. Pure.
import { idOf, put, type FleetReader, type Refusal, type ChangeNote } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { SITE, unknownSite } from '../../sites/index.ts';
import { NODE, type Node } from '../model.ts';
import { clearCleanFailed } from './clean-failed-alarm.ts';
import { denyMove, enrolNode, isSameDescription, refuseOtherInventory, type Enroller, type NodeSpec } from './enrol.ts';
import { confirmClean, isRefused, removeNode, type StoredNode, type TransitionResult } from './transitions.ts';

export function createNode(fleet: FleetReader, spec: NodeSpec, enroller: Enroller): Decision<Node> {
  const id = idOf(NODE, spec.name);
  const stored = fleet.get(NODE, id);
  if (stored !== undefined && stored.doc.state !== 'removed') return refuse(nodeExists(spec.name));
  const enrolled = enrolNode(fleet, spec, enroller);
  if ('code' in enrolled) return refuse(enrolled);
  return accept([put(NODE, id, enrolled.node)], enrolled.node);
}

type Editable = Omit<NodeSpec, 'name' | 'power'>;

export interface EditNode extends Enroller {
  readonly id: string;
  /** Only the fields to change; null clears one. */
  readonly edit: { readonly [K in keyof Editable]?: Editable[K] | null };
}

/** What its inventory says of a machine is not said here. */
const PLACED_HERE: readonly string[] = ['site', 'physicalNetworks'];

export function editNode(fleet: FleetReader, { id, edit, callerSite, ...change }: EditNode): Decision<Node> {
  return changeNode(fleet, id, (stored) => {
    const { doc } = stored;
    const field = Object.keys(edit).find((name) => !PLACED_HERE.includes(name));
    if (doc.inventory !== 'simulated' && field !== undefined)
      return { ...refuseOtherInventory(stored), field: `/${field}` };
    const edited = applyEdit(doc, edit);
    if (isSameDescription(doc, edited)) return doc;
    return denySiteEdit(fleet, edited.site, callerSite) ?? denyMove(stored, edited) ?? noteChange(edited, change);
  });
}

function applyEdit(doc: Node, edit: EditNode['edit']): Node {
  const cleared = Object.keys(edit).filter((name) => edit[name as keyof Editable] === null);
  const set = Object.entries(edit).filter(([, value]) => value !== null);
  const kept = Object.entries(doc).filter(([name]) => !cleared.includes(name));
  return Object.fromEntries([...kept, ...set]) as Node;
}

function denySiteEdit(
  fleet: FleetReader,
  site: string | undefined,
  callerSite: string | undefined,
): Refusal | undefined {
  if (callerSite !== undefined && site !== callerSite) {
    const message = `Your token is bound to site "${callerSite}": it moves nodes nowhere else. Use a token that is bound to no site.`;
    return { kind: 'forbidden', code: 'other-site', message, field: '/site' };
  }
  if (site === undefined || fleet.get(SITE, idOf(SITE, site)) !== undefined) return undefined;
  return unknownSite(site, '/site');
}

interface NodeCommand extends ChangeNote {
  readonly id: string;
}

/** It is not offered to a new instance. The one that has it keeps it. */
export function enterMaintenance(
  fleet: FleetReader,
  { id, reason, ...change }: NodeCommand & { readonly reason: string },
): Decision<Node> {
  return changeNode(fleet, id, ({ doc }) => {
    if (doc.maintenance?.reason === reason) return doc;
    return noteChange({ ...doc, maintenance: { reason, by: change.by, atMs: change.nowMs } }, change);
  });
}

export function leaveMaintenance(fleet: FleetReader, { id, ...change }: NodeCommand): Decision<Node> {
  return changeNode(fleet, id, ({ doc }) => {
    const { maintenance, ...rest } = doc;
    return maintenance === undefined ? doc : noteChange(rest, change);
  });
}

/** An operator states that there is no data on a node that the control plane could not clean. */
export function confirmNodeClean(fleet: FleetReader, { id, ...change }: NodeCommand): Decision<Node> {
  return changeNode(fleet, id, (stored) =>
    // Where an inventory of its own has the last word, its next refresh says whether the node is offered.
    confirmClean(stored, { ...change, isOffered: stored.doc.inventory === 'simulated' }),
  );
}

/** Answers what is left of it. */
export function deleteNode(fleet: FleetReader, { id, ...change }: NodeCommand): Decision<Node> {
  const stored = fleet.get(NODE, idOf(NODE, id));
  if (stored === undefined) return refuse(unknownNode(id));
  if (stored.doc.inventory !== 'simulated') return refuse(refuseOtherInventory(stored));
  return toDecision(fleet, stored, removeNode(stored, change));
}

function changeNode(fleet: FleetReader, id: string, edit: (stored: StoredNode) => TransitionResult): Decision<Node> {
  const stored = fleet.get(NODE, idOf(NODE, id));
  if (stored === undefined) return refuse(unknownNode(id));
  if (stored.doc.state === 'removed') return refuse(nodeRemoved(id));
  return toDecision(fleet, stored, edit(stored));
}

function toDecision(fleet: FleetReader, stored: StoredNode, node: TransitionResult): Decision<Node> {
  if (isRefused(node)) return refuse(node);
  if (node === stored.doc) return accept([], node);
  return accept([put(NODE, stored.id, node), ...clearCleanFailed(fleet, stored, node)], node);
}

function noteChange(node: Node, { by, nowMs }: ChangeNote): Node {
  return { ...node, changedBy: by, changedAtMs: nowMs };
}

function unknownNode(id: string): Refusal {
  const message = `There is no node "${id}". List them with "muster baremetal nodes list".`;
  return { kind: 'not-found', code: 'node-not-found', message, facts: { node: id } };
}

function nodeRemoved(id: string): Refusal {
  const message = `Node "${id}" was removed. Enrol it again with "muster baremetal nodes create ${id}".`;
  return { kind: 'conflict', code: 'node-removed', message, facts: { node: id } };
}

function nodeExists(id: string): Refusal {
  const message = `There is a node "${id}" already. Choose another name, or change it with "muster baremetal nodes edit ${id}".`;
  return { kind: 'conflict', code: 'node-exists', message, field: '/name', facts: { node: id } };
}
