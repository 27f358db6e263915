// An address that a back end gives to one port is removed from any other in the journal.
import { expect, test } from 'vitest';
import { idOf, put } from '../../fleet/index.ts';
import { revokeReassignedAddresses } from './reassigned-addresses.ts';
import { PORT, type Port } from '../model.ts';
import { commit, fleetWith, network, port, portDoc, subnet } from '../network-fixture.ts';

const at = (ip: string): Port['addresses'][number] => ({ ip, subnet: 's', chosenBy: 'bind' });

function reassignmentFleet() {
  return fleetWith(
    network('n', { backEnd: 'simulated' }),
    subnet('s', 'n', '10.0.0.0/24'),
    port('old', 'n', { instance: 'leaves', nic: 0, addresses: [at('10.0.0.7'), at('10.0.0.8')] }),
    port('new', 'n', { instance: 'comes', nic: 0 }),
  );
}

test('never: an address that a back end gave away has two owners', () => {
  const fleet = reassignmentFleet();
  const doc = { ...portDoc(fleet, 'new'), addresses: [at('10.0.0.7')] };
  const taken = revokeReassignedAddresses(fleet, [{ id: idOf(PORT, 'new'), doc }]);
  expect(taken.expects).toEqual([{ kind: 'port', id: 'old', revision: 2 }]);
  commit(fleet, [put(PORT, idOf(PORT, 'new'), doc), ...taken.changes]);
  expect(portDoc(fleet, 'old').addresses).toEqual([at('10.0.0.8')]);
});

test('no-port-loses-what-is-free-or-its-own', () => {
  const fleet = reassignmentFleet();
  const ports = [
    { id: idOf(PORT, 'old'), doc: portDoc(fleet, 'old') },
    { id: idOf(PORT, 'new'), doc: { ...portDoc(fleet, 'new'), addresses: [at('10.0.0.9')] } },
  ];
  expect(revokeReassignedAddresses(fleet, ports)).toEqual({ changes: [], expects: [] });
});
