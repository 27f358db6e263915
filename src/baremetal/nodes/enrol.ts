// Enrols nodes: the one decision for a single node and for each line of many. Pure. Repeating it changes nothing.
import { idOf, type FleetReader, type Refusal, type ChangeNote } from '../../fleet/index.ts';
import { SITE, unknownSite } from '../../sites/index.ts';
import { NODE, type Node } from '../model.ts';
import { isRefused, refuseInUse, reviveNode, userOf, type StoredNode } from './transitions.ts';

/** What is said of a machine when it is enrolled. Whatever is left out it does not have. */
export type NodeSpec = Partial<
  Pick<
    Node,
    | 'resourceClass'
    | 'traits'
    | 'memoryMiB'
    | 'cpus'
    | 'localGiB'
    | 'cpuArch'
    | 'capabilities'
    | 'site'
    | 'physicalNetworks'
    | 'owner'
    | 'lessee'
    | 'power'
  >
> & { readonly name: string };

export interface Enroller extends ChangeNote {
  /** The site that the caller is bound to, when it is bound to one. */
  readonly callerSite?: string | undefined;
}

export const ENROLMENTS = ['created', 'revived', 'changed', 'unchanged'] as const;
export type Enrolment = (typeof ENROLMENTS)[number];

export interface EnrolledNode {
  readonly outcome: Enrolment;
  readonly node: Node;
}

/** The node as it is once it is enrolled as described, whether it was there before or not. `field` names a field of the description. */
export function enrolNode(
  fleet: FleetReader,
  spec: NodeSpec,
  { callerSite, ...change }: Enroller,
): EnrolledNode | Refusal {
  const { site = callerSite } = spec;
  const denied = denyOtherSite(spec, callerSite) ?? denyUnknownSite(fleet, site);
  if (denied !== undefined) return denied;
  const described = describeNode({ ...spec, ...(site !== undefined && { site }) }, change);
  const stored = fleet.get(NODE, idOf(NODE, spec.name));
  if (stored === undefined) return { outcome: 'created', node: described };
  if (stored.doc.inventory !== described.inventory) return refuseOtherInventory(stored);
  if (stored.doc.state === 'removed') {
    const revived = reviveNode(stored, described);
    return isRefused(revived) ? revived : { outcome: 'revived', node: revived };
  }
  return redescribe(stored, described);
}

/** Known without a look at the fleet: it says nothing of what is there. */
export function denyOtherSite({ site }: Pick<NodeSpec, 'site'>, callerSite: string | undefined): Refusal | undefined {
  if (callerSite === undefined || site === undefined || site === callerSite) return undefined;
  const message = `Your token is bound to site "${callerSite}": it enrols nodes there only. Name that site or none, or use a token that is bound to none.`;
  return { kind: 'forbidden', code: 'other-site', message, field: '/site' };
}

function denyUnknownSite(fleet: FleetReader, site: string | undefined): Refusal | undefined {
  if (site === undefined || fleet.get(SITE, idOf(SITE, site)) !== undefined) return undefined;
  return unknownSite(site, '/site');
}

/** As it is when it was never seen before: switched off, clean and free. */
function describeNode(spec: NodeSpec, { by, nowMs }: ChangeNote): Node {
  return {
    inventory: 'simulated',
    ...{ traits: [], memoryMiB: 0, cpus: 0, localGiB: 0, physicalNetworks: [], power: 'off' },
    ...spec,
    state: 'available',
    epoch: 0,
    changedBy: by,
    changedAtMs: nowMs,
  };
}

/** What an enrolment says of a node that is there. Its power is observed, not stated, once a manager has it. */
const DESCRIBED = [
  'resourceClass',
  'traits',
  'memoryMiB',
  'cpus',
  'localGiB',
  'cpuArch',
  'capabilities',
  'site',
  'physicalNetworks',
  'owner',
  'lessee',
] as const;
type Described = Pick<Node, (typeof DESCRIBED)[number]>;

function redescribe(stored: StoredNode, described: Node): EnrolledNode | Refusal {
  if (isSameDescription(stored.doc, described)) return { outcome: 'unchanged', node: stored.doc };
  const denied = denyMove(stored, described);
  if (denied !== undefined) return denied;
  const { changedBy, changedAtMs } = described;
  const kept = Object.entries(stored.doc).filter(([name]) => !DESCRIBED.some((one) => one === name));
  const said = Object.entries(described).filter(([name]) => DESCRIBED.some((one) => one === name));
  const node = { ...Object.fromEntries([...kept, ...said]), changedBy, changedAtMs } as Node;
  return { outcome: 'changed', node };
}

export function isSameDescription(one: Described, other: Described): boolean {
  return DESCRIBED.every((name) => isSame(one[name], other[name]));
}

function isSame(one: Described[keyof Described], other: Described[keyof Described]): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other;
  return one.length === other.length && one.every((word, at) => word === other[at]);
}

/** What an instance was given with its node does not change under it. */
export function denyMove(stored: StoredNode, to: Pick<Node, 'site' | 'physicalNetworks'>): Refusal | undefined {
  const { site, physicalNetworks } = stored.doc;
  const isMoved = site !== to.site || !isSame(physicalNetworks, to.physicalNetworks);
  if (userOf(stored.doc) === undefined || !isMoved) return undefined;
  return { ...refuseInUse(stored), field: site === to.site ? '/physicalNetworks' : '/site' };
}

export function refuseOtherInventory({ id, doc: { inventory } }: StoredNode): Refusal {
  const message = `Node "${id}" is known from the inventory "${inventory}", which says what it is and whether it is there. Change it there.`;
  return { kind: 'conflict', code: 'node-of-inventory', message, facts: { node: id, inventory } };
}
