// The cached standings of hosts must never show: an election on a fleet with a long history, and many trials, equals that of a server that has
// just started.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  Fleet,
  idOf,
  runTrial,
  put,
  Registry,
  remove,
  type AnyDoc,
  type Change,
  type FleetReader,
  type Kind,
} from '../fleet/index.ts';
import { HOST } from '../hosts/index.ts';
import { PORT, ROUTER, SUBNET, TRANSPORT_ZONE } from '../network/index.ts';
import { operationsModel } from '../operations/index.ts';
import { SITE } from '../sites/index.ts';
import { ElectionContext } from './candidates.ts';
import { fitHost, fleetOf, LEAVING, MODELS, portOn, routed } from './election-fixture.ts';
import { SERVICE, type Service } from './model.ts';
import { STANDINGS } from './standings.ts';

const HOSTS = ['a', 'b', 'c'];
const SUBNETS = ['s1', 's2', 's3'];
const CHANGED = { changedBy: 'test', changedAtMs: 0 };

const serviceOf = (type: Service['type'], subject: string, facts: Partial<Service> = {}): Service => ({
  type,
  subject,
  exclusion: 'soft',
  onControlLoss: 'move',
  epoch: 0,
  ...CHANGED,
  ...facts,
});

/** One subnet behind it, and two. */
const SERVICES = [serviceOf('nat', 'r1'), serviceOf('nat', 'r2'), serviceOf('subnet-route', 's1')];

const newFleet = (changes: readonly Change[]): Fleet => {
  const fleet = new Fleet(new Registry([operationsModel, ...MODELS]));
  fleet.apply(1, changes);
  return fleet;
};

const world = (): Fleet =>
  newFleet(
    fleetOf(
      routed('r1', ['s1']),
      routed('r2', ['s2', 's3']),
      HOSTS.slice(1).map((one) => fitHost(one)),
    ),
  );

/** The same documents, on a server that has just started. */
function anew(fleet: FleetReader): Fleet {
  const all = <K extends string, D extends AnyDoc>(kind: Kind<K, D>): Change[] =>
    [...fleet.all(kind)].map(({ id, doc }) => put(kind, id, doc));
  const places = [...all(SITE), ...all(TRANSPORT_ZONE), ...all(HOST)];
  return newFleet([...places, ...all(SUBNET), ...all(ROUTER), ...all(PORT), ...all(SERVICE)]);
}

function listStandings(fleet: FleetReader): object[] {
  const poll = new ElectionContext(fleet);
  return SERVICES.map((doc) => {
    const { eligible, leaving, rejected } = poll.candidatesOf({ doc });
    const lists = [eligible, leaving, rejected].map(({ listed, count }) => ({ listed, count }));
    return { lists, standby: poll.chooseStandby(doc) };
  });
}

const host = fc.constantFrom(...HOSTS);
const subnet = fc.constantFrom(...SUBNETS);
const anyChange: fc.Arbitrary<Change> = fc.oneof(
  fc
    .tuple(host, fc.constantFrom({}, LEAVING, { baseWeight: 2 }, { serviceVersion: 4 }))
    .map(([id, facts]) => fitHost(id, facts)),
  host.map((id) => remove(HOST, idOf(HOST, id))),
  fc.tuple(host, subnet).map(([id, at]) => portOn(id, at)),
  fc.tuple(host, subnet).map(([id, at]) => remove(PORT, idOf(PORT, `${id}-${at}`))),
  fc.tuple(host, fc.option(host, { nil: undefined })).map(([id, standby]) =>
    put(SERVICE, idOf(SERVICE, 'dhcp:s9'), {
      ...serviceOf('dhcp', 's9', { designated: { host: id, sinceMs: 0 } }),
      ...(standby !== undefined && { standby }),
    }),
  ),
  fc.constant(remove(SERVICE, idOf(SERVICE, 'dhcp:s9'))),
  fc.array(subnet, { maxLength: 3 }).map((subnets) =>
    put(ROUTER, idOf(ROUTER, 'r2'), {
      name: 'r2',
      project: 'default',
      subnets: [...new Set(subnets)],
      externalNetwork: 'outside',
      ...CHANGED,
    }),
  ),
);

test('never: earlier queries, or trials that were undone, show in an election', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyChange, fc.array(anyChange, { maxLength: 4 })), { maxLength: 12 }), (steps) => {
      const fleet = world();
      for (const [done, tried] of steps) {
        fleet.apply(fleet.revision + 1, [done]);
        expect(listStandings(fleet)).toEqual(listStandings(anew(fleet)));
        runTrial(fleet, (trial) => {
          for (const change of tried) {
            trial.add([change]);
            expect(listStandings(trial)).toEqual(listStandings(anew(trial)));
          }
        });
        expect(listStandings(fleet)).toEqual(listStandings(anew(fleet)));
      }
    }),
  );
});

test('hosts-of-a-list-are-looked-up-once-until-one-comes', () => {
  const fleet = world();
  const apply = (change: Change) => fleet.apply(fleet.revision + 1, [change]);
  const standings = fleet.projection(STANDINGS);
  const list = ['a', 'b'];
  const first = standings.getAll(list);
  apply(fitHost('b', { baseWeight: 3 }));
  expect(standings.getAll(list)).toBe(first);
  expect(first.map(({ id, baseWeight }) => [id, baseWeight])).toEqual([
    ['a', 0],
    ['b', 3],
  ]);
  apply(fitHost('a'));
  expect(standings.getAll(list)).not.toBe(first);
  expect(standings.getAll(list)[0]?.host?.name).toBe('a');
});
