// A reconciliation that was decided before its commit: it may be committed as long as none of its inputs changed.
import { describe, expect, test } from 'vitest';
import { Fleet, idOf, put, Registry, SETTING, type Change } from '../fleet/index.ts';
import { runAllSteps, HOST, type Host } from '../hosts/index.ts';
import { operationsModel, type OperationId } from '../operations/index.ts';
import { reconcileServicesInSteps } from './decide.ts';
import { fitHost, fleetOf, MODELS, portOn, routed, service } from './election-fixture.ts';
import { SERVICE, type Service, type ServiceId } from './model.ts';
import { ELECTION } from './settings.ts';

const ID = 'nat:r1' as ServiceId;
const DETECTOR = { hasBfdUp: () => true, isBfdDownByMajority: () => false, maybePartitioned: () => true };
const NAT: Service = {
  type: 'nat',
  subject: 'r1',
  exclusion: 'soft',
  onControlLoss: 'move',
  epoch: 1,
  designated: { host: 'a', sinceMs: 0 },
  changedBy: 'test',
  changedAtMs: 0,
};

function leavingFleet(): Fleet {
  const fleet = new Fleet(new Registry([operationsModel, ...MODELS]));
  const hosts = ['a', 'x', 'y'];
  const ports = hosts.map((host) => portOn(host, 's1'));
  fleet.apply(
    1,
    fleetOf(
      hosts.map((host) => fitHost(host)),
      routed('r1', ['s1']),
      ports,
    ),
  );
  fleet.apply(2, [put(SERVICE, idOf(SERVICE, ID), NAT), hostWith(fleet, 'a', 'draining')]);
  return fleet;
}

function hostWith(fleet: Fleet, name: string, state: Host['state']): Change {
  const doc = fleet.get(HOST, idOf(HOST, name))?.doc as Host;
  const leaving = { operation: 'op-0', drain: true, by: 'ann', atMs: 0 };
  return put(HOST, idOf(HOST, name), { ...doc, state, ...(state === 'draining' && { leaving }) });
}

const look = (fleet: Fleet) => {
  const how = { services: [ID], operation: 'op-1' as OperationId, by: 'ann', nowMs: 5, deadlineMs: 1000 };
  return runAllSteps(reconcileServicesInSteps(fleet, { ...how, ...DETECTOR }));
};

describe('a reconciliation that was decided before its commit', () => {
  test('holds-while-nothing-changes, and names the targets of services', () => {
    const fleet = leavingFleet();
    const { isStillValid, targets, changes } = look(fleet);
    expect([...targets]).toEqual([[ID, 'x']]);
    expect(isStillValid(fleet)).toBe(true);
    fleet.apply(3, changes);
    expect(service(fleet, ID)?.handover?.to).toBe('x');
  });

  const election = (facts: object): Change =>
    put(SETTING, ELECTION.name as never, {
      value: { ...ELECTION.defaultValue, ...facts },
      changedBy: 'test',
      changedAtMs: 0,
    });

  test.each<[string, (fleet: Fleet) => Change, boolean]>([
    ['the-service-is-written', () => put(SERVICE, idOf(SERVICE, ID), { ...NAT, changedAtMs: 4 }), false],
    ['its-target-begins-to-leave', (fleet) => hostWith(fleet, 'x', 'draining'), false],
    ['elections-are-held-still', () => election({ held: true }), false],
    ['another-host-leaves', (fleet) => hostWith(fleet, 'y', 'draining'), true],
    ['a-setting-that-does-not-matter', () => election({ handoverDrainMs: 7 }), true],
  ])('%s', (_, change, expected) => {
    const fleet = leavingFleet();
    const { isStillValid } = look(fleet);
    fleet.apply(3, [change(fleet)]);
    expect(isStillValid(fleet)).toBe(expected);
  });
});
