// What becomes of the records of nodes when an inventory has shown them, or has said that one is gone. Nothing is concluded from what a read does not
// show, and nothing from a read that is older than the record: what was changed since is seen by the next one.
import { Type } from 'typebox';
import { compileChecker, idOf, put, type Change, type FleetReader, type ChangeNote } from '../../fleet/index.ts';
import { requireNode } from '../builder/node-of.ts';
import type { InventoryNode } from '../drivers/inventory.ts';
import { NODE, NODE_HARDWARE, NODE_PLACE, type InventoryName, type Node, type NodeFault } from '../model.ts';
import { clearCleanFailed } from '../nodes/clean-failed-alarm.ts';
import { markAbsent, removeNode, reviveNode, setOffered, userOf, type StoredNode } from '../nodes/transitions.ts';
import { INVENTORY } from './model.ts';

/** What was read, and the revision of the fleet that it can be compared with: that before the read began. */
interface Read extends ChangeNote {
  readonly inventory: InventoryName;
  readonly readAtRevision: number;
}

export interface ShownNodes extends Read {
  readonly nodes: readonly InventoryNode[];
}

/** Its ids are names in paths of the API. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}$/;

export function recordShown(fleet: FleetReader, { nodes, ...read }: ShownNodes): Change[] {
  const shown = new Map(nodes.map((node) => [node.id, node]));
  return [...shown.values()].flatMap((node) => (ID.test(node.id) ? recordOne(fleet, node, read) : []));
}

function recordOne(fleet: FleetReader, shown: InventoryNode, read: Read): Change[] {
  const id = idOf(NODE, shown.id);
  const stored = fleet.get(NODE, id);
  if (stored === undefined) return [put(NODE, id, newNode(shown, read))];
  if (stored.doc.inventory !== read.inventory || stored.revision > read.readAtRevision) return [];
  const after = stored.doc.state === 'removed' ? revive(stored, shown, read) : update(stored, shown, read);
  return after === stored.doc ? [] : [put(NODE, id, after), ...clearCleanFailed(fleet, stored, after)];
}

function newNode(shown: InventoryNode, { inventory, by, nowMs }: Read): Node {
  const { facts, fault } = describe(shown, nowMs);
  return {
    inventory,
    ...{ traits: [], memoryMiB: 0, cpus: 0, localGiB: 0, physicalNetworks: [] },
    ...facts,
    state: shown.isAvailable && fault === undefined ? 'available' : 'unavailable',
    power: shown.power,
    epoch: 0,
    ...(fault !== undefined && { fault }),
    changedBy: by,
    changedAtMs: nowMs,
  };
}

/** The same node as before, where it was. */
function revive(stored: StoredNode, shown: InventoryNode, read: Read): Node {
  const { site } = stored.doc;
  return requireNode(reviveNode(stored, { ...newNode(shown, read), ...(site !== undefined && { site }) }));
}

function update(stored: StoredNode, shown: InventoryNode, { by, nowMs }: Read): Node {
  const { facts, fault } = describe(shown, nowMs);
  const described = withFault(withFacts(stored.doc, facts, shown), fault);
  const isSame = FACTS.every((name) => isAlike(stored.doc[name], described[name]));
  const isNoted = stored.doc.fault?.code === described.fault?.code && stored.doc.absent === undefined;
  const doc = isSame && isNoted && stored.doc.power === shown.power ? stored.doc : { ...described, power: shown.power };
  const offered = requireNode(
    setOffered({ ...stored, doc }, { isOffered: shown.isAvailable && fault === undefined, by, nowMs }),
  );
  return offered === stored.doc ? offered : { ...offered, changedBy: by, changedAtMs: nowMs };
}

/** What an inventory says of a machine. Where it is, and whether it is in maintenance for us, is not said there. */
const DESCRIBED = {
  ...NODE_HARDWARE,
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  owner: NODE_PLACE.owner,
  lessee: NODE_PLACE.lessee,
};
type DescribedFacts = Partial<Pick<Node, keyof typeof DESCRIBED>>;
const FACTS = Object.keys(DESCRIBED) as readonly (keyof typeof DESCRIBED)[];
const problemsOf = compileChecker(Type.Object(DESCRIBED));

const RECORD_INVALID = 'inventory-record-invalid';

/** A node of which something is not known, such as its owner, is not offered: it might be offered to more than its inventory means. */
function describe(shown: InventoryNode, nowMs: number): { readonly facts: DescribedFacts; readonly fault?: NodeFault } {
  const said = FACTS.filter((name) => shown[name] !== undefined && !isUnsaid(shown, name));
  const all = said.map((name) => [name, shown[name]] as const);
  const problems = problemsOf({ traits: [], memoryMiB: 0, cpus: 0, localGiB: 0, ...Object.fromEntries(all) });
  const wrong = new Set(problems.map(({ field }) => field.split('/')[1]));
  const facts: DescribedFacts = Object.fromEntries(all.filter(([name]) => !wrong.has(name)));
  const [first] = problems;
  if (first === undefined) return { facts };
  const message = `Its inventory says what cannot be used: ${first.field.slice(1)} ${first.message}. Mend it there; the node is not offered until then.`;
  return { facts, fault: { code: RECORD_INVALID, message: message.slice(0, 500), atMs: nowMs } };
}

function isUnsaid({ unsaid = [] }: InventoryNode, name: string): boolean {
  return unsaid.some((one) => one === name);
}

/** What is not said any more goes, but for what an older version of the inventory cannot say. */
function withFacts({ absent: _, ...doc }: Node, facts: DescribedFacts, shown: InventoryNode): Node {
  const kept = Object.entries(doc).filter(
    ([name]) => !FACTS.some((one) => one === name) || isUnsaid(shown, name) || REQUIRED.includes(name),
  );
  return { ...Object.fromEntries(kept), ...facts } as Node;
}

const REQUIRED: readonly string[] = ['traits', 'memoryMiB', 'cpus', 'localGiB'];

/** What else is wrong with a node is said first. */
function withFault({ fault: before, ...doc }: Node, fault: NodeFault | undefined): Node {
  if (before !== undefined && before.code !== RECORD_INVALID) return { ...doc, fault: before };
  if (fault === undefined) return doc;
  return { ...doc, fault: before?.message === fault.message ? before : fault };
}

function isAlike(one: Node[keyof DescribedFacts], other: Node[keyof DescribedFacts]): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other;
  return one.length === other.length && one.every((word, at) => word === other[at]);
}

export interface GoneNode extends Read {
  readonly node: string;
}

/** The inventory itself has said that there is no such node. Who has it keeps it: that its machine is gone is said of it. */
export function recordGone(fleet: FleetReader, { node, inventory, readAtRevision, ...change }: GoneNode): Change[] {
  const stored = fleet.get(NODE, idOf(NODE, node));
  if (stored?.doc.inventory !== inventory || stored.revision > readAtRevision) return [];
  const lastSeenAtMs = fleet.get(INVENTORY, idOf(INVENTORY, inventory))?.doc.pass?.beganAtMs;
  const after =
    userOf(stored.doc) === undefined
      ? requireNode(removeNode(stored, change))
      : markAbsent(stored, { ...change, lastSeenAtMs });
  return after === stored.doc ? [] : [put(NODE, stored.id, after), ...clearCleanFailed(fleet, stored, after)];
}
