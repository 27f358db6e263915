// A back end outside the journal may give an address to a port before the journal has learnt that another port lost it. The back end's answer
// is authoritative: recording it takes the address from any other port in the same commit, so that no address ever has two owners.
import { idOf, mark, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { expectUnchanged, type ExpectedRevision } from '../../operations/index.ts';
import { PORT, type Port, type PortId } from '../model.ts';
import { stockOf } from './stock.ts';

export interface AddressRevocation {
  readonly changes: readonly Change[];
  /** The other ports as they were read: one that was deleted meanwhile must not come back. */
  readonly expects: readonly ExpectedRevision[];
}

/** The addresses that other ports lose to these, as a back end has answered. Empty in nearly all cases. */
export function revokeReassignedAddresses(
  fleet: FleetReader,
  ports: readonly { readonly id: PortId; readonly doc: Port }[],
): AddressRevocation {
  const stock = stockOf(fleet);
  const own = new Set<string>(ports.map(({ id }) => id));
  const allocated = ports.flatMap(({ doc }) => doc.addresses);
  const losers = new Set(
    allocated.flatMap(({ subnet, ip }) => stock.holdersOf(subnet, ip).filter((id) => !own.has(id))),
  );
  const isAllocated = (one: Port['addresses'][number]): boolean =>
    allocated.some(({ subnet, ip }) => one.subnet === subnet && one.ip === ip);
  const stored = [...losers].flatMap((id) => fleet.get(PORT, idOf(PORT, id)) ?? []);
  if (stored.length > 0) mark('address-reassigned');
  return {
    changes: stored.map(({ id, doc }) =>
      put(PORT, id, { ...doc, addresses: doc.addresses.filter((one) => !isAllocated(one)) }),
    ),
    expects: stored.map((port) => expectUnchanged(PORT, port)),
  };
}
