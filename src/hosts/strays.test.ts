// What is recorded of strays: the first of them by name, the number of all, since when, and for which hosts.
import { describe, expect, test } from 'vitest';
import { accessModel } from '../access/index.ts';
import { ALARM, alarmsModel } from '../alarms/index.ts';
import { Fleet, idOf, put, Registry } from '../fleet/index.ts';
import { host as plainHost } from '../network/network-fixture.ts';
import { operationsModel } from '../operations/index.ts';
import { SITE, sitesModel } from '../sites/index.ts';
import { findHost } from './decide.ts';
import { hostsModel } from './fleet-model.ts';
import { HOST, HOST_STATES, type Host } from './model.ts';
import { STRAYS_NAMED_MAX } from './strays-schema.ts';
import { recordStrays, straysSentences, summarizeStrays } from './strays.ts';

function fleetOf(facts: Partial<Host> = {}): Fleet {
  const fleet = new Fleet(new Registry([accessModel, operationsModel, alarmsModel, sitesModel, hostsModel]));
  const site = put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'test', changedAtMs: 0 });
  const doc = { ...(plainHost('c1').doc as Host), ...facts };
  fleet.apply(1, [site, put(HOST, idOf(HOST, 'c1'), doc)]);
  return fleet;
}

function record(fleet: Fleet, names: readonly string[], nowMs: number, inAll = names.length): number {
  const decision = recordStrays(fleet, { host: 'c1', strays: summarizeStrays(names, inAll), nowMs });
  if (decision.kind === 'refuse') throw new Error(decision.refusal.code);
  if (decision.changes.length > 0) fleet.apply(fleet.revision + 1, decision.changes);
  return decision.changes.length;
}

const straysOf = (fleet: Fleet): Host['strays'] => findHost(fleet, 'c1')?.doc.strays;
const alarmsOf = (fleet: Fleet): string[] =>
  [...fleet.all(ALARM)].map(({ doc }) => straysSentences[doc.reason.code]!(doc.reason, () => ''));

describe('strays of a host', () => {
  test('are-there-since-the-first-was-found, whatever-else-is-found-later', () => {
    const fleet = fleetOf();
    record(fleet, ['interface/tap0'], 10);
    record(fleet, ['interface/tap0', 'interface/tap1'], 20);
    expect(straysOf(fleet)).toEqual({ names: ['interface/tap0', 'interface/tap1'], count: 2, sinceMs: 10 });
    expect([...fleet.all(ALARM)].map(({ doc }) => doc.sinceMs)).toEqual([10]);
  });

  test('that-are-reported-again-cost-nothing, in-whatever-order', () => {
    const fleet = fleetOf();
    record(fleet, ['interface/tap1', 'interface/tap0'], 10);
    expect(record(fleet, ['interface/tap0', 'interface/tap1'], 20)).toBe(0);
  });

  test('that-are-many-are-counted-beyond-those-that-are-named, also-when-the-agent-names-only-some', () => {
    const fleet = fleetOf();
    const names = Array.from({ length: STRAYS_NAMED_MAX + 3 }, (_, nth) => `interface/tap${nth}`);
    record(fleet, names, 10);
    expect([straysOf(fleet)?.names.length, straysOf(fleet)?.count]).toEqual([STRAYS_NAMED_MAX, names.length]);
    record(fleet, names, 20, 500);
    expect(straysOf(fleet)?.count).toBe(500);
    expect(alarmsOf(fleet)).toEqual([expect.stringContaining(`and ${500 - STRAYS_NAMED_MAX} more`)]);
  });

  test('that-are-gone-leave-neither-a-note-nor-an-alarm', () => {
    const fleet = fleetOf();
    record(fleet, ['interface/tap0'], 10);
    expect(alarmsOf(fleet)).toHaveLength(1);
    record(fleet, [], 20);
    expect([straysOf(fleet), alarmsOf(fleet)]).toEqual([undefined, []]);
  });

  test.each(HOST_STATES)('are-written-down-of-one-that-is-in-service-or-leaves-and-may-come-back: %s', (state) => {
    const fleet = fleetOf({ state });
    record(fleet, ['interface/tap0'], 10);
    const isRecorded = ['active', 'draining', 'drained', 'recovering'].includes(state);
    expect(straysOf(fleet) !== undefined).toBe(isRecorded);
  });
});
