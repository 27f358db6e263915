// Decides on floating addresses: create, associate, disassociate, delete. Its external side is a port of its own; its internal side is one address
// of another port, through the router in front of that port's subnet.
import { idOf, put, remove, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { findFloatingTarget } from './floating-target.ts';
import { DEFAULT_PROJECT, PORT } from '../model.ts';
import { allocateExternalAddress } from './external-address.ts';
import { conflict, invalid, isRefusal, unknownResource } from '../refusal.ts';
import { FLOATING_ADDRESS, type FloatingAddress, type StoredFloatingAddress } from './model.ts';

interface Requester {
  readonly by: string;
  readonly nowMs: number;
}

export interface CreateFloatingAddress extends Requester {
  readonly id: string;
  /** For the external port. */
  readonly portId: string;
  readonly network: string;
  readonly project?: string;
  readonly ip?: string;
  /** The port that it is associated with from the start, and which of its addresses. */
  readonly port?: string;
  readonly portIp?: string;
  readonly admin: boolean;
  /** The caller sees its own project alone: what others have does not exist for it. */
  readonly isProjectScoped?: boolean;
}

const FIELDS = { network: '/network', ip: '/ip' };

export function createFloatingAddress(
  fleet: FleetReader,
  command: CreateFloatingAddress,
): Decision<{ readonly id: string }> {
  const { project = DEFAULT_PROJECT, network, port, portIp, by, nowMs } = command;
  const id = idOf(FLOATING_ADDRESS, command.id);
  if (port === undefined && portIp !== undefined) {
    const message = 'An address of a port was named and no port. Name the port as well.';
    return refuse(invalid('port-required', message, { field: '/portIp' }));
  }
  const usedBy = { kind: 'floating-address', id } as const;
  const made = allocateExternalAddress(fleet, { ...command, project, usedBy, fields: FIELDS });
  if (isRefusal(made)) return refuse(made);
  const free: FloatingAddress = { project, network, outside: made.address, changedBy: by, changedAtMs: nowMs };
  const changes =
    port === undefined
      ? [put(FLOATING_ADDRESS, id, free)]
      : composeAssociation(fleet, { id, doc: free }, { ...command, port });
  return isRefusal(changes) ? refuse(changes) : accept([...changes, made.change], { id });
}

export interface AssociateFloatingAddress extends Requester {
  readonly id: string;
  readonly port: string;
  /** Which address of the port; required when several are possible. */
  readonly portIp?: string;
  /** As for `CreateFloatingAddress`. */
  readonly isProjectScoped?: boolean;
}

/** An existing association is replaced in one step: there is no moment without. */
export function associateFloatingAddress(
  fleet: FleetReader,
  command: AssociateFloatingAddress,
): Decision<{ readonly id: string }> {
  const stored = findFloatingAddress(fleet, command.id);
  if (stored === undefined) return refuse(unknownResource('floating-address', command.id));
  const changes = composeAssociation(fleet, stored, command);
  return isRefusal(changes) ? refuse(changes) : accept(changes, { id: stored.id });
}

interface AssociationRequest extends Requester {
  readonly port: string;
  readonly portIp?: string;
  readonly isProjectScoped?: boolean;
}

function composeAssociation(
  fleet: FleetReader,
  { id, doc }: Pick<StoredFloatingAddress, 'id' | 'doc'>,
  { port, portIp, isProjectScoped = false, by, nowMs }: AssociationRequest,
): Change[] | Refusal {
  const found = findFloatingTarget(fleet, { id, floating: doc, port, ip: portIp, isProjectScoped });
  if (isRefusal(found)) return found;
  const { inside, target } = found;
  const same = doc.inside?.port === inside.port && doc.inside.ip === inside.ip && doc.inside.router === inside.router;
  if (same) return [];
  const changed = { changedBy: by, changedAtMs: nowMs };
  // An associated address is kept: it is not dropped for another host. The port changes too, so that concurrent decisions see the association.
  const addresses = target.doc.addresses.map((one) =>
    one.ip === inside.ip && one.chosenBy === 'bind' ? { ...one, chosenBy: 'user' as const } : one,
  );
  return [
    put(FLOATING_ADDRESS, id, { ...doc, inside, ...changed }),
    put(PORT, target.id, { ...target.doc, addresses, ...changed }),
  ];
}

export interface DisassociateFloatingAddress extends Requester {
  readonly id: string;
}

export function disassociateFloatingAddress(
  fleet: FleetReader,
  { id, by, nowMs }: DisassociateFloatingAddress,
): Decision<{ readonly id: string }> {
  const stored = findFloatingAddress(fleet, id);
  if (stored === undefined) return refuse(unknownResource('floating-address', id));
  const { inside, ...rest } = stored.doc;
  if (inside === undefined) return accept([], { id });
  return accept([put(FLOATING_ADDRESS, stored.id, { ...rest, changedBy: by, changedAtMs: nowMs })], { id });
}

export function deleteFloatingAddress(
  fleet: FleetReader,
  { id }: { readonly id: string },
): Decision<StoredFloatingAddress> {
  const stored = findFloatingAddress(fleet, id);
  if (stored === undefined) return refuse(unknownResource('floating-address', id));
  const { inside, outside } = stored.doc;
  if (inside !== undefined) {
    const message = `Floating address ${outside.ip} is associated with port "${inside.port}". Disassociate it first: muster floating-addresses disassociate ${id}`;
    return refuse(conflict('floating-address-in-use', message, { facts: { floatingAddress: id, port: inside.port } }));
  }
  return accept([remove(FLOATING_ADDRESS, stored.id), remove(PORT, idOf(PORT, outside.port))], stored);
}

function findFloatingAddress(fleet: FleetReader, id: string): StoredFloatingAddress | undefined {
  return fleet.get(FLOATING_ADDRESS, idOf(FLOATING_ADDRESS, id));
}
