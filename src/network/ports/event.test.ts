// Network events: kept whether or not anything waits for them, counted for the present binding only.
import { describe, expect, test } from 'vitest';
import { Fleet, idOf, put, Registry, remove, type FleetReader } from '../../fleet/index.ts';
import {
  eventId,
  EVENTS_BY_PORT,
  isPlugged,
  NETWORK_EVENT,
  networkEventsModel,
  latestPlugEvent,
  recordNetworkEvents,
  type NetworkEventReport,
} from './event.ts';
import { PORT, type Port } from '../model.ts';
import { port as portChange } from '../network-fixture.ts';

const DAY_MS = 24 * 3600 * 1000;

function fleetOf(facts: Partial<Port>): Fleet {
  const fleet = new Fleet(new Registry([{ kinds: [PORT] }, networkEventsModel]));
  fleet.apply(1, [portChange('p', 'n', { instance: 'web', nic: 0, ...facts })]);
  return fleet;
}

const plugged = (serial: number, more: Partial<NetworkEventReport> = {}): NetworkEventReport => ({
  ...{ port: 'p', name: 'plugged', serial },
  ...more,
});

function recordEvents(fleet: Fleet, ...events: NetworkEventReport[]) {
  const decision = recordNetworkEvents(fleet, { events, nowMs: 5000 });
  if (decision.kind === 'refuse') return decision.refusal;
  for (const { doc } of decision.changes) if (doc !== null) expect(NETWORK_EVENT.check(doc)).toBeUndefined();
  if (decision.changes.length > 0) fleet.apply(fleet.revision + 1, decision.changes);
  return decision.answer.map(({ result }) => result);
}

function bindAndCheckPlugged(fleet: Fleet, serial: number): boolean {
  const binding = { host: 'h1', serial, type: 'ovs' };
  fleet.apply(fleet.revision + 1, [portChange('p', 'n', { instance: 'web', nic: 0, serial, binding })]);
  return isPortPlugged(fleet);
}

function isPortPlugged(fleet: FleetReader): boolean {
  return isPlugged(fleet, fleet.get(PORT, idOf(PORT, 'p'))!);
}

describe('events', () => {
  test('scheduling-27: a plugged event that came before the wait ends the wait at once', () => {
    const fleet = fleetOf({ serial: 1 });
    expect(recordEvents(fleet, plugged(1, { instance: 'web' }))).toEqual(['recorded']);
    expect(isPortPlugged(fleet)).toBe(false);
    expect(bindAndCheckPlugged(fleet, 1)).toBe(true);
  });

  test('an-event-of-a-serial-that-is-not-known-yet-is-kept', () => {
    const fleet = fleetOf({ serial: 0 });
    expect(recordEvents(fleet, plugged(1))).toEqual(['recorded']);
    expect(bindAndCheckPlugged(fleet, 1)).toBe(true);
  });

  test('never: an event of an unused serial counts when that serial is given out later', () => {
    const fleet = fleetOf({ serial: 3 });
    const strange = [plugged(5), plugged(Number.MAX_SAFE_INTEGER)];
    expect(recordEvents(fleet, plugged(4), ...strange)).toEqual(['recorded', 'refused', 'refused']);
    expect(recordEvents(fleet, plugged(5))).toMatchObject({ kind: 'conflict', code: 'serial-not-given-out' });
    expect(bindAndCheckPlugged(fleet, 5)).toBe(false);
  });

  test('only-events-of-the-present-binding-count', () => {
    const fleet = fleetOf({ serial: 1 });
    recordEvents(fleet, plugged(1));
    expect(bindAndCheckPlugged(fleet, 3)).toBe(false);
    expect(recordEvents(fleet, plugged(2))).toEqual(['stale']);
    expect(isPortPlugged(fleet)).toBe(false);
    expect(recordEvents(fleet, plugged(3))).toEqual(['recorded']);
    expect(isPortPlugged(fleet)).toBe(true);
  });

  test('while-a-port-goes-elsewhere-both-bindings-are-spoken-of', () => {
    const binding = { host: 'h1', serial: 3, type: 'ovs' };
    const fleet = fleetOf({ serial: 5, binding });
    expect(recordEvents(fleet, plugged(3), plugged(4), plugged(5))).toEqual(['recorded', 'stale', 'recorded']);
    expect(isPortPlugged(fleet)).toBe(true);
  });

  test('unplugged-is-not-plugged-and-nothing-without-a-binding-is', () => {
    const fleet = fleetOf({ serial: 1 });
    recordEvents(fleet, plugged(1, { name: 'unplugged' }));
    expect(bindAndCheckPlugged(fleet, 1)).toBe(false);
  });

  test('the-last-word-on-a-binding-counts', () => {
    const fleet = fleetOf({ serial: 1 });
    const said = (...names: NetworkEventReport['name'][]) =>
      recordEvents(fleet, ...names.map((name) => plugged(1, { name })));
    expect(said('plugged')).toEqual(['recorded']);
    expect(bindAndCheckPlugged(fleet, 1)).toBe(true);
    expect(said('unplugged')).toEqual(['recorded']);
    expect(isPortPlugged(fleet)).toBe(false);
    expect(said('plugged')).toEqual(['recorded']);
    expect(isPortPlugged(fleet)).toBe(true);
    expect(said('failed', 'plugged', 'failed')).toEqual(['recorded', 'recorded', 'recorded']);
    expect(latestPlugEvent(fleet, fleet.get(PORT, idOf(PORT, 'p'))!)).toMatchObject({ name: 'failed', serial: 1 });
    expect(fleet.count(NETWORK_EVENT)).toBe(1);
  });

  test('of-several-that-an-older-version-kept-the-newest-counts', () => {
    const fleet = fleetOf({ serial: 1, binding: { host: 'h1', serial: 1, type: 'ovs' } });
    for (const name of ['plugged', 'unplugged'] as const) {
      const doc = { port: 'p', name, serial: 1, atMs: 5000 };
      fleet.apply(fleet.revision + 1, [put(NETWORK_EVENT, eventId('p', name, 1), doc)]);
    }
    expect(isPortPlugged(fleet)).toBe(false);
    expect(recordEvents(fleet, plugged(1))).toEqual(['recorded']);
    expect(isPortPlugged(fleet)).toBe(true);
  });

  test('a-wrong-instance-is-a-refusal-of-that-entry-while-the-others-are-taken', () => {
    const fleet = fleetOf({ serial: 1 });
    const events = [plugged(1, { instance: 'db' }), plugged(1, { name: 'failed', instance: 'web' })];
    const decision = recordNetworkEvents(fleet, { events, nowMs: 5000 });
    expect(decision.kind === 'accept' && decision.answer).toMatchObject([
      { result: 'refused', status: 409, code: 'instance-not-attached' },
      { result: 'recorded', name: 'failed' },
    ]);
    expect(decision.kind === 'accept' && decision.changes).toHaveLength(1);
  });

  test('duplicates-are-harmless', () => {
    const fleet = fleetOf({ serial: 1 });
    expect(recordEvents(fleet, plugged(1), plugged(1))).toEqual(['recorded', 'already']);
    const { revision } = fleet;
    expect(recordEvents(fleet, plugged(1))).toEqual(['already']);
    expect([fleet.revision, fleet.count(NETWORK_EVENT), fleet.countOf(EVENTS_BY_PORT, 'p')]).toEqual([revision, 1, 1]);
    expect(fleet.get(NETWORK_EVENT, eventId('p', 'plugged', 1))?.doc).toEqual({
      instance: 'web',
      port: 'p',
      name: 'plugged',
      serial: 1,
      atMs: 5000,
    });
  });

  test('an-unknown-port-is-refused-while-the-others-are-taken', () => {
    const fleet = fleetOf({ serial: 1 });
    const decision = recordNetworkEvents(fleet, { events: [plugged(1, { port: 'q' }), plugged(1)], nowMs: 5000 });
    expect(decision).toMatchObject({ kind: 'accept' });
    expect(decision.kind === 'accept' && decision.answer).toMatchInlineSnapshot(`
      [
        {
          "code": "port-not-found",
          "message": "There is no port "q". Send events of ports that Muster knows, by their ids.",
          "name": "plugged",
          "port": "q",
          "result": "refused",
          "serial": 1,
          "status": 404,
        },
        {
          "name": "plugged",
          "port": "p",
          "result": "recorded",
          "serial": 1,
        },
      ]
    `);
    expect(decision.kind === 'accept' && decision.changes).toHaveLength(1);
  });

  test('when-none-can-be-taken-the-request-is-refused-and-changes-nothing', () => {
    const fleet = fleetOf({ serial: 1 });
    const strange = plugged(1, { port: 'q' });
    expect(recordEvents(fleet, strange)).toMatchObject({ kind: 'not-found', code: 'port-not-found' });
    const elsewhere = plugged(1, { instance: 'db' });
    expect(recordEvents(fleet, elsewhere, strange)).toMatchObject({ kind: 'conflict', code: 'instance-not-attached' });
    expect(fleet.count(NETWORK_EVENT)).toBe(0);
  });
});

describe('retention', () => {
  const expiry = (fleet: Fleet, serial: number): number | undefined => {
    const doc = { port: 'p', name: 'plugged', serial, atMs: 5000 } as const;
    return NETWORK_EVENT.expiresAtMs?.(doc, fleet);
  };

  test('never: an event of the present binding, or of one to come, is forgotten', () => {
    const fleet = fleetOf({ serial: 3, binding: { host: 'h1', serial: 3, type: 'ovs' } });
    expect([expiry(fleet, 3), expiry(fleet, 4)]).toEqual([undefined, undefined]);
  });

  test('what-is-outlived-goes-after-a-day', () => {
    const fleet = fleetOf({ serial: 3 });
    expect(expiry(fleet, 2)).toBe(5000 + DAY_MS);
    fleet.apply(2, [remove(PORT, idOf(PORT, 'p'))]);
    expect(expiry(fleet, 3)).toBe(5000 + DAY_MS);
  });
});
