// What a build of Muster's own has to say about the reservation that it requests: whether it still needs one, where its node may be, and what is taken
// together with the node, in one commit. The endpoint for reservations calls it; it never chooses or changes a node.
import { idOf, put, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { INSTANCE, portsOf, type Attempt, type Instance, type StoredInstance } from '../../instances/index.ts';
import { bindPortsToNode, PORT, wiredPlacesOf } from '../../network/index.ts';
import { ITEM } from '../../operations/index.ts';
import type { Node, Reservation } from '../model.ts';
import { BARE_METAL, RESERVE_STEP } from './names.ts';
import { buildOf } from './node-of.ts';

export interface BuildRequest {
  readonly instance: string;
  readonly manager: string;
  /** The item that requests it; absent in requests of others than Muster's builds. */
  readonly build?: string | undefined;
}

/** What matching has to know beside the request. */
export interface BuildConstraints {
  readonly site?: string;
  /** Nodes on which a try failed. */
  readonly except: ReadonlySet<string>;
  /** The node is wired to one of each list. */
  readonly physicalNetworkChoices: readonly (readonly string[])[];
}

/** Undefined when no build of Muster's is concerned. A build that has ended, or went to another manager, gets no node. */
export function constrainToBuild(fleet: FleetReader, request: BuildRequest): BuildConstraints | Refusal | undefined {
  const instance = findOwnInstance(fleet, request.instance);
  if (request.build === undefined) return instance === undefined ? undefined : ownInstance(request.instance);
  if (instance === undefined || !isAwaited(fleet, instance, request)) return buildNotWaiting(request);
  const places = wiredPlacesOf(
    fleet,
    portsOf(fleet, instance.doc).map(({ doc }) => doc),
  );
  const empty = places.find(({ physicalNetworks, isExhausted }) => physicalNetworks.length === 0 && isExhausted);
  if (empty !== undefined) return addressesExhausted(empty.network);
  const { place, attempts } = instance.doc;
  return {
    ...(place.site !== undefined && { site: place.site }),
    except: new Set(attempts.flatMap(({ node, fault }) => (node === undefined || fault === undefined ? [] : [node]))),
    physicalNetworkChoices: places.map(({ physicalNetworks }) => physicalNetworks),
  };
}

function findOwnInstance(fleet: FleetReader, id: string): StoredInstance | undefined {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, id));
  return instance?.doc.builder === BARE_METAL ? instance : undefined;
}

/** Whether its build or its deletion sees to its reservation. */
export function isOwnInstance(fleet: FleetReader, id: string): boolean {
  return findOwnInstance(fleet, id) !== undefined;
}

function isAwaited(fleet: FleetReader, { id, doc }: StoredInstance, { manager, build = '' }: BuildRequest): boolean {
  const item = fleet.get(ITEM, idOf(ITEM, build))?.doc;
  return (
    item !== undefined &&
    item.step === RESERVE_STEP &&
    item.target.kind === INSTANCE.name &&
    item.target.id === id &&
    item.assignee === manager &&
    doc.state === 'building' &&
    doc.node === undefined
  );
}

export interface TakeForBuild {
  /** Made by hand, it takes nothing, whatever instance has its name. */
  readonly reservation: Pick<Reservation, 'instance' | 'request'>;
  readonly node: { readonly id: string; readonly doc: Pick<Node, 'site' | 'physicalNetworks'> };
  readonly by: string;
  readonly nowMs: number;
}

export type TakenForBuild =
  | { readonly kind: 'taken'; readonly changes: readonly Change[] }
  /** Another node may do, unless the build has ended. */
  | { readonly kind: 'fault'; readonly code: 'not-wired' | 'addresses-exhausted' | 'build-ended' };

/** What belongs to the commit that gives a node to an instance of Muster's: its ports get their addresses and are bound, and it is on the node. */
export function takeForBuild(fleet: FleetReader, { reservation, node, by, nowMs }: TakeForBuild): TakenForBuild {
  const instance = buildOf(reservation) === undefined ? undefined : findOwnInstance(fleet, reservation.instance);
  if (instance === undefined) return { kind: 'taken', changes: [] };
  // The inventory answered after the build had ended.
  if (instance.doc.state !== 'building') return { kind: 'fault', code: 'build-ended' };
  const { site, physicalNetworks } = node.doc;
  const bound = bindPortsToNode(fleet, portsOf(fleet, instance.doc), { node: node.id, physicalNetworks, by, nowMs });
  if (bound.kind === 'fault') return { kind: 'fault', code: bound.code };
  const pools = bound.ports.map(({ doc }) => `segment:${doc.binding?.segment ?? ''}`);
  const doc: Instance = {
    ...instance.doc,
    node: node.id,
    ...(site !== undefined && { site }),
    attempts: editLastAttempt(instance.doc, { node: node.id, pools }),
    changedBy: by,
    changedAtMs: nowMs,
  };
  const ports = bound.ports.map((port) => put(PORT, port.id, port.doc));
  return { kind: 'taken', changes: [put(INSTANCE, instance.id, doc), ...ports] };
}

export function editLastAttempt({ attempts }: Instance, edit: Partial<Attempt>): Attempt[] {
  const last = attempts.at(-1);
  return last === undefined ? [] : [...attempts.slice(0, -1), { ...last, ...edit }];
}

export function ownInstance(instance: string): Refusal {
  const message = `Instance "${instance}" is the control plane's own: its build reserves its node. Choose another instance_uuid.`;
  return { kind: 'conflict', code: 'instance-of-own-build', message, field: '/instance_uuid', facts: { instance } };
}

function buildNotWaiting({ instance, manager, build = '' }: BuildRequest): Refusal {
  const message = `No build of instance "${instance}" waits for a node from manager "${manager}" under ${build}: it has ended, or went to another manager. Nothing was reserved. Read the manager's tasks again.`;
  return { kind: 'conflict', code: 'build-not-waiting', message, facts: { instance, manager, build } };
}

function addressesExhausted(network: string): Refusal {
  const message = `No wired segment of network "${network}" has an address left. Add a pool to one of its subnets, or free an address.`;
  return { kind: 'conflict', code: 'addresses-exhausted', message, facts: { network } };
}
