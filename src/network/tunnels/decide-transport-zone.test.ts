import { describe, expect, test } from 'vitest';
import { idOf, put, type Change, type Fleet } from '../../fleet/index.ts';
import { HOST, type Host } from '../../hosts/index.ts';
import type { Decision } from '../../journal/index.ts';
import { createTransportZone, deleteTransportZone, editTransportZone, zoneOfHost } from './decide-transport-zone.ts';
import { commitAccepted, commit, fleetWith, host, WHO } from '../network-fixture.ts';
import { TRANSPORT_ZONE } from './transport-zone.ts';
import { HOSTS_BY_TRANSPORT_ZONE } from './endpoints.ts';

function putHost(name: string, facts: Partial<Host> = {}): Change {
  return put(HOST, idOf(HOST, name), { ...(host(name).doc as Host), ...facts });
}

const make = (fleet: Fleet, name: string, mesh?: 'full' | 'needed'): Decision<unknown> =>
  createTransportZone(fleet, { name, ...(mesh !== undefined && { mesh }), ...WHO });

const zoneOf = (fleet: Fleet, name: string): string | undefined => {
  const zone = zoneOfHost(fleet, fleet.get(HOST, idOf(HOST, name))?.doc as Host);
  return typeof zone === 'object' ? `zone ${zone.id}` : zone;
};

const describeDecision = (decision: Decision<unknown>): string =>
  decision.kind === 'refuse' ? `${decision.refusal.code}: ${decision.refusal.message}` : 'accepted';

const membersOf = (fleet: Fleet, zone: string): string[] =>
  [...fleet.find(HOSTS_BY_TRANSPORT_ZONE, zone)].map(({ id }) => id);

describe('transport zones', () => {
  test('one is created, changed and deleted', () => {
    const fleet = fleetWith();
    commitAccepted(fleet, make(fleet, 'blue'));
    const zone = (): unknown => fleet.get(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'blue'))?.doc;
    expect(zone()).toEqual({ name: 'blue', mesh: 'needed', changedBy: 'ann', changedAtMs: 7 });
    commitAccepted(fleet, editTransportZone(fleet, { id: 'blue', edit: { mesh: 'full' }, ...WHO, nowMs: 8 }));
    expect(zone()).toEqual({ name: 'blue', mesh: 'full', changedBy: 'ann', changedAtMs: 8 });
    expect(commitAccepted(fleet, deleteTransportZone(fleet, { id: 'blue' })).doc.mesh).toBe('full');
    expect(zone()).toBeUndefined();
  });

  test('refused: names that are taken or not known', () => {
    const fleet = fleetWith();
    commitAccepted(fleet, make(fleet, 'blue'));
    expect(describeDecision(make(fleet, 'blue', 'needed'))).toBe(
      'transport-zone-exists: There is a transport zone "blue" already. Choose another name.',
    );
    const sentence =
      'unknown-transport-zone: There is no transport zone "red". List them with "muster transport-zones list".';
    expect(describeDecision(editTransportZone(fleet, { id: 'red', edit: { mesh: 'full' }, ...WHO }))).toBe(sentence);
    expect(describeDecision(deleteTransportZone(fleet, { id: 'red' }))).toBe(sentence);
  });

  test('refused: a zone that hosts are in, the default one among them, until the last has left', () => {
    const fleet = fleetWith(
      putHost('h1', { transportZone: 'blue' }),
      putHost('h2', { transportZone: 'blue' }),
      putHost('h3'),
    );
    for (const name of ['blue', 'default']) commitAccepted(fleet, make(fleet, name));
    expect(describeDecision(deleteTransportZone(fleet, { id: 'blue' }))).toBe(
      'transport-zone-in-use: 2 hosts are in the transport zone "blue". Give them another zone first.',
    );
    expect(describeDecision(deleteTransportZone(fleet, { id: 'default' }))).toBe(
      'default-zone-in-use: 1 host is in the zone "default", which is that of every host that names no other. Give it another zone first.',
    );
    commit(fleet, [
      putHost('h1', { transportZone: 'blue', state: 'draining' }),
      putHost('h3', { transportZone: 'blue' }),
    ]);
    expect(describeDecision(deleteTransportZone(fleet, { id: 'default' }))).toBe('accepted');
    expect(describeDecision(deleteTransportZone(fleet, { id: 'blue' }))).toMatch(/^transport-zone-in-use: 3 hosts /);
  });
});

describe('the zone of a host', () => {
  test('scale-in-33: parked while it is not defined, a member once it is, the default one when none is named', () => {
    const fleet = fleetWith(putHost('h1', { transportZone: 'blue' }), putHost('h2'));
    expect([zoneOf(fleet, 'h1'), zoneOf(fleet, 'h2')]).toEqual(['undefined-zone', undefined]);
    commitAccepted(fleet, make(fleet, 'default'));
    expect([zoneOf(fleet, 'h1'), zoneOf(fleet, 'h2')]).toEqual(['undefined-zone', 'zone default']);
    commitAccepted(fleet, make(fleet, 'blue'));
    expect([zoneOf(fleet, 'h1'), zoneOf(fleet, 'h2')]).toEqual(['zone blue', 'zone default']);
    commit(fleet, [putHost('h1')]);
    expect(zoneOf(fleet, 'h1')).toBe('zone default');
  });

  test('scale-in-31: a host is in one zone only, and in none once it is removed', () => {
    const fleet = fleetWith(putHost('h1', { transportZone: 'blue' }), putHost('h2'));
    expect([membersOf(fleet, 'blue'), membersOf(fleet, 'default')]).toEqual([['h1'], ['h2']]);
    commit(fleet, [putHost('h1', { transportZone: 'red', connection: { state: 'down', sinceMs: 1 } })]);
    expect([membersOf(fleet, 'blue'), membersOf(fleet, 'red')]).toEqual([[], ['h1']]);
    commit(fleet, [putHost('h1', { transportZone: 'red', state: 'removed' }), putHost('h2', { state: 'removed' })]);
    expect([membersOf(fleet, 'red'), membersOf(fleet, 'default')]).toEqual([[], []]);
  });
});
