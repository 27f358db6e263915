import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { idOf, runTrial, type Change, type FleetReader } from '../../fleet/index.ts';
import { HOST, type Host } from '../../hosts/index.ts';
import { segmentsOfHost } from './host-segments.ts';
import { portsWithMac } from '../addresses/mac.ts';
import { PORT, SEGMENT, SUBNET } from '../model.ts';
import { fleetWith, host, network, port, segment, subnet } from '../network-fixture.ts';
import { usageOf } from '../quotas/quota.ts';
import { hostReaches, topologyOf } from './topology.ts';

const MACS = ['52:00:00:00:00:01', '52:00:00:00:00:02'];
const SEGMENTS = ['a', 'b'];
const SUBNETS = ['s1', 's2', 's3'];
const PORTS = ['p1', 'p2', 'p3'];
const NETWORKS = ['n', 'm'];
const oneOf = (names: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...names);

const anyChange: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(oneOf(SEGMENTS), oneOf(NETWORKS), fc.boolean()).map(([id, of, dynamic]) => segment(id, of, { dynamic })),
  fc
    .tuple(oneOf(SUBNETS), oneOf(NETWORKS), fc.constantFrom(undefined, ...SEGMENTS), fc.boolean())
    .map(([id, of, on, empty]) =>
      subnet(id, of, '10.0.0.0/24', { ...(on !== undefined && { segment: on }), ...(empty && { pools: [] }) }),
    ),
  fc
    .tuple(oneOf(PORTS), oneOf(NETWORKS), oneOf(MACS), fc.constantFrom('red', 'blue'))
    .map(([id, of, mac, project]) => port(id, of, { mac, project })),
  fc.constantFrom(
    ...SEGMENTS.map((id) => ({ kind: SEGMENT.name, id, doc: null })),
    ...SUBNETS.map((id) => ({ kind: SUBNET.name, id, doc: null })),
    ...PORTS.map((id) => ({ kind: PORT.name, id, doc: null })),
  ),
);

const names = (stored: Iterable<{ readonly id: string }>): string[] => [...stored].map(({ id }) => id).sort();

function describeTopology(fleet: FleetReader): unknown {
  const topology = topologyOf(fleet);
  return {
    networks: NETWORKS.map((id) => ({
      subnets: names(topology.subnetsOf(id)),
      segments: names(topology.segmentsOf(id)),
      choices: topology.addressChoicesOf(id),
      reach: topology.placementChoicesOf(id),
      macs: MACS.map((mac) => portsWithMac(fleet, id, mac).sort()),
    })),
    usage: ['red', 'blue'].map((project) => usageOf(fleet, project)),
  };
}

/** The same, by scanning every document. */
function recountTopology(fleet: FleetReader): unknown {
  const subnets = [...fleet.all(SUBNET)];
  const ports = [...fleet.all(PORT)];
  return {
    networks: NETWORKS.map((id) => ({
      subnets: names(subnets.filter(({ doc }) => doc.network === id)),
      segments: names([...fleet.all(SEGMENT)].filter(({ doc }) => doc.network === id)),
      macs: MACS.map((mac) => names(ports.filter(({ doc }) => doc.network === id && doc.mac === mac))),
    })),
    usage: ['red', 'blue'].map((project) => ({ ports: ports.filter(({ doc }) => doc.project === project).length })),
  };
}

test('topology, MACs and usage equal a scan of the documents, and a trial leaves no trace in them', () => {
  fc.assert(
    fc.property(fc.array(anyChange, { maxLength: 12 }), fc.array(anyChange, { maxLength: 12 }), (done, tried) => {
      const fleet = fleetWith(network('n'), network('m'));
      for (const change of done) fleet.apply(fleet.revision + 1, [change]);
      const before = describeTopology(fleet);
      expect(before).toMatchObject(recountTopology(fleet) as object);
      runTrial(fleet, (trial) => {
        for (const change of tried) {
          trial.add([change]);
          expect(describeTopology(trial)).toMatchObject(recountTopology(trial) as object);
        }
      });
      expect(describeTopology(fleet)).toEqual(before);
    }),
  );
});

test('empty networks are not mistaken for each other', () => {
  const topology = topologyOf(fleetWith(network('n'), network('m')));
  for (const id of NETWORKS) {
    expect(topology.addressChoicesOf(id)).toEqual([{ pool: `network:${id}`, takes: [] }]);
    expect(topology.placementChoicesOf(id)).toEqual([{ pool: `network:${id}`, takes: [] }]);
  }
});

test('R2: the segments of a host are those that it reaches, whatever comes first', () => {
  const fleet = fleetWith(
    host('h1', 'phys-a', 'other'),
    network('n'),
    segment('a', 'n'),
    segment('b', 'n'),
    segment('tunnel', 'n', { type: 'vxlan', physicalNetwork: undefined } as never),
  );
  const h1 = fleet.get(HOST, idOf(HOST, 'h1'))?.doc as Host;
  const reached = [...fleet.all(SEGMENT)].filter(({ doc }) => hostReaches(h1, doc)).map(({ id }) => id);
  expect(segmentsOfHost(fleet, h1).map((one) => one.segment)).toEqual(reached);
  expect(reached).toEqual(['a', 'tunnel']);
});
