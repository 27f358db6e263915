// Every error in the networks of instances has a code of its own, a sentence that says what to do, and changes nothing.
import { describe, expect, test } from 'vitest';
import { idOf, put, type FleetReader, type Refusal } from '../../../src/fleet/index.ts';
import type { Decision } from '../../../src/journal/index.ts';
import { PORT } from '../../../src/network/index.ts';
import {
  createNetwork,
  createPort,
  createSegment,
  createSubnet,
  deletePort,
  editSubnet,
} from '../../../src/network/decisions-fixture.ts';
import { OPERATION } from '../../../src/operations/index.ts';
import { startConnectedWorld, expectSentence } from './refusal-fixture.ts';

type Decide = (fleet: FleetReader, who: { by: string; nowMs: number; admin: boolean }) => Decision<unknown>;
type NetworkCase = readonly [name: string, decide: Decide, refusal: Partial<Refusal>];

const subnet = (facts: Partial<Parameters<typeof createSubnet>[1]>): Decide => {
  return (fleet, who) =>
    createSubnet(fleet, { name: 's', network: 'n', segment: 'seg0', cidr: '10.9.0.0/24', ...who, ...facts });
};
const port = (facts: Partial<Parameters<typeof createPort>[1]>): Decide => {
  return (fleet, who) => createPort(fleet, { id: 'x', network: 'n', ...who, ...facts });
};

const NETWORK_CASES: readonly NetworkCase[] = [
  [
    'a subnet without segment on a routed network',
    (fleet, who) => createSubnet(fleet, { name: 's', network: 'n', cidr: '10.9.0.0/24', ...who }),
    { code: 'subnet-without-segment', field: '/segment' },
  ],
  ['a range that overlaps', subnet({ cidr: '10.0.0.128/25' }), { code: 'cidr-overlaps', field: '/cidr' }],
  ['a range that is none', subnet({ cidr: '10.0.0.300/25' }), { code: 'cidr-invalid', field: '/cidr' }],
  [
    'a pool outside of its subnet',
    subnet({ pools: [{ first: '10.8.0.1', last: '10.8.0.9' }] }),
    { code: 'pool-outside-subnet', field: '/pools/0' },
  ],
  [
    'pools that overlap',
    subnet({
      pools: [
        { first: '10.9.0.5', last: '10.9.0.9' },
        { first: '10.9.0.9', last: '10.9.0.12' },
      ],
    }),
    { code: 'pools-overlap', field: '/pools/1' },
  ],
  [
    'a gateway outside of its subnet',
    subnet({ gateway: '10.8.0.1' }),
    { code: 'gateway-outside-subnet', field: '/gateway' },
  ],
  ['a segment of another network', subnet({ network: 'p' }), { code: 'segment-of-other-network', field: '/segment' }],
  [
    'another segment for a subnet',
    (fleet, who) => editSubnet(fleet, { id: 'sub0', edit: { segment: 'seg2' }, ...who }),
    { code: 'segment-immutable', field: '/segment' },
  ],
  [
    'a wire that is there already',
    (fleet, who) =>
      createSegment(fleet, {
        name: 'again',
        network: 'p',
        type: 'vlan',
        physicalNetwork: 'phys',
        segmentationId: 9,
        ...who,
      }),
    { code: 'segmentation-taken', field: '/segmentationId' },
  ],
  [
    'a network that is there already',
    (fleet, who) => createNetwork(fleet, { name: 'n', ...who }),
    { code: 'network-exists', field: '/name' },
  ],
  [
    'addresses of a port in two segments',
    port({ fixedIps: [{ subnet: 'sub0' }, { subnet: 'sub2' }] }),
    { code: 'addresses-in-different-segments' },
  ],
  ['an address of a port that is taken', port({ fixedIps: [{ ip: '10.0.0.1' }] }), { code: 'address-in-use' }],
  [
    'the deletion of a port that is used',
    (fleet, who) => deletePort(fleet, { id: 'used', operation: idOf(OPERATION, 'op'), ...who }),
    { code: 'port-in-use' },
  ],
];

describe('what instances are connected to is refused, and nothing changes', () => {
  test.each(NETWORK_CASES)('%s', async (_name, decide, refusal) => {
    const world = await startConnectedWorld();
    await world.segment('wire', 'p', { physicalNetwork: 'phys', segmentationId: 9 });
    await world.userPort('used', 'n');
    await world.put(put(PORT, idOf(PORT, 'used'), { ...world.port('used'), instance: 'other', nic: 0 }));
    const said = await world.refusal((fleet) => decide(fleet, { by: 'ann', nowMs: 1, admin: true }));
    expect(said).toMatchObject(refusal);
    expectSentence(said);
  });
});
