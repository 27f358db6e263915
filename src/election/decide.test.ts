// One pass over many services: balanced, and independent of any input order.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fleet, Registry, type Change } from '../fleet/index.ts';
import { operationsModel, type OperationId } from '../operations/index.ts';
import { reconcileServices, type ReconcileSummary } from './decide.ts';
import { fitHost, fleetOf, LEAVING, MODELS, portOn, routed, service } from './election-fixture.ts';
import type { Service } from './model.ts';
import { allServices } from './desired-services.ts';
import { whySentences } from './why.ts';

function fleetWith(...changes: readonly (Change | readonly Change[])[]): Fleet {
  const fleet = new Fleet(new Registry([operationsModel, ...MODELS]));
  fleet.apply(1, fleetOf(...changes));
  return fleet;
}

function look(fleet: Fleet, services = allServices(fleet)): ReconcileSummary {
  const operation = 'op-1' as OperationId;
  const decision = reconcileServices(fleet, {
    services,
    hasBfdUp: () => false,
    isBfdDownByMajority: () => false,
    maybePartitioned: () => false,
    operation,
    by: 'test',
    nowMs: 5,
    deadlineMs: 1000,
  });
  if (decision.kind === 'refuse') throw new Error(decision.refusal.code);
  for (const { kind, id, doc } of decision.changes) {
    if (doc !== null) expect(fleet.registry.kinds.get(kind)?.check(doc), `${kind}/${id}`).toBeUndefined();
  }
  if (decision.changes.length > 0) fleet.apply(fleet.revision + 1, decision.changes);
  return decision.answer;
}

const hostOf = (fleet: Fleet, id: string): string | undefined => service(fleet, id)?.designated?.host;

const routers = (count: number): Change[] =>
  Array.from({ length: count }, (_, nth) => routed(`r${nth}`, [`s${nth}`])).flat();
const everywhere = (hosts: readonly string[], count: number): Change[] =>
  hosts.flatMap((one) => Array.from({ length: count }, (_, nth) => portOn(one, `s${nth}`)));

test.each([
  ['all-0-one-each', 0, ['a', 'b']],
  ['a-host-with-2-takes-both-of-two', 2, ['b', 'b']],
  ['a-host-below-0-is-taken-last', -5, ['a', 'a']],
])('base weights: %s', (_name, baseWeight, expected) => {
  const fleet = fleetWith(fitHost('a'), fitHost('b', { baseWeight }), routers(2), everywhere(['a', 'b'], 2));
  look(
    fleet,
    [...allServices(fleet)].filter((id) => id.startsWith('nat:')),
  );
  expect(['nat:r0', 'nat:r1'].map((id) => hostOf(fleet, id))).toEqual(expected);
});

test('a-second-look-changes-nothing', () => {
  const fleet = fleetWith(fitHost('a'), fitHost('b'), routers(3), everywhere(['a', 'b'], 3));
  expect(look(fleet).elected).toHaveLength(6);
  const { revision } = fleet;
  expect(look(fleet)).toEqual({ elected: [], withdrawn: [], started: [], postponed: [] });
  expect(fleet.revision).toBe(revision);
});

test('a-batch-of-leavers-spreads-over-the-rest', () => {
  const names = ['a', 'b', 'x', 'y', 'z'];
  const fleet = fleetWith(
    names.map((name) => fitHost(name)),
    routers(10),
    everywhere(names, 10),
  );
  look(fleet);
  fleet.apply(fleet.revision + 1, [fitHost('a', LEAVING), fitHost('b', LEAVING)]);
  expect(look(fleet).started).toHaveLength(8);
  const loads = new Map<string, number>();
  for (const id of allServices(fleet)) {
    const doc = service(fleet, id) as Service;
    const host = doc.handover?.to ?? doc.designated?.host ?? '';
    loads.set(host, (loads.get(host) ?? 0) + 1);
  }
  expect([...loads.values()].sort((one, other) => one - other)).toEqual([6, 7, 7]);
});

test('the-result-does-not-depend-on-the-order-of-lists-maps-or-arrivals', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const weights = fc.array(fc.integer({ min: -2, max: 2 }), { minLength: 5, maxLength: 5 });
  const present = fc.uniqueArray(fc.tuple(fc.constantFrom(...names), fc.integer({ min: 0, max: 5 })), {
    selector: ([one, nth]) => `${one}${nth}`,
    minLength: 4,
  });
  fc.assert(
    fc.property(weights, present, fc.infiniteStream(fc.nat()), (baseWeights, ports, chance) => {
      const shuffled = <T>(list: readonly T[]): T[] =>
        list
          .map((one) => ({ one, at: chance.next().value as number }))
          .sort((one, other) => one.at - other.at)
          .map(({ one }) => one);
      const run = (order: <T>(list: readonly T[]) => T[]): string => {
        const hosts = names.map((name, nth) => fitHost(name, { baseWeight: baseWeights[nth] ?? 0 }));
        const bound = ports.map(([one, nth]) => portOn(one, `s${nth}`));
        const fleet = fleetWith(order(hosts), routers(6), order(bound));
        look(fleet, order(allServices(fleet)));
        fleet.apply(fleet.revision + 1, [
          fitHost('b', LEAVING),
          fitHost('c', { connection: { state: 'down', sinceMs: 0 } }),
        ]);
        look(fleet, order(allServices(fleet)));
        return allServices(fleet)
          .map((id) => `${id} ${hostOf(fleet, id)} ${service(fleet, id)?.handover?.to}`)
          .join();
      };
      expect(run(shuffled)).toBe(run((list) => [...list]));
    }),
    { numRuns: 60 },
  );
});

test('why-is-shown-with-candidates-rejections-and-scores', () => {
  const fleet = fleetWith(
    fitHost('c1', LEAVING),
    fitHost('c7', { baseWeight: 2 }),
    fitHost('c8'),
    fitHost('c9', { connection: { state: 'down', sinceMs: 0 } }),
    routers(1),
    everywhere(['c1', 'c7', 'c8', 'c9'], 1),
  );
  look(fleet);
  const doc = service(fleet, 'nat:r0') as Service;
  expect(doc.why).toEqual({
    cause: 'first-election',
    chosen: 'c7',
    candidates: [
      { host: 'c7', score: -2 },
      { host: 'c8', score: 0 },
    ],
    candidatesInAll: 2,
    rejected: [
      { host: 'c1', because: 'tombstoned' },
      { host: 'c9', because: 'not-connected' },
    ],
    rejectedInAll: 2,
    atMs: 5,
  });
  expect(whySentences(doc)).toMatchInlineSnapshot(`
    [
      "It was not served yet: c7 was chosen with score -2, the lowest.",
      "Other candidates: c8 with 0.",
      "Not eligible: c1 is leaving, c9 is not connected.",
    ]
  `);
  expect(whySentences({ ...doc, designated: { host: 'c1', sinceMs: 0, degraded: true } }).at(-1)).toMatchInlineSnapshot(
    `"c1 is leaving and has it only because no other host could take it."`,
  );
  const { designated: _, why: __, ...undesignated } = doc;
  expect(whySentences(undesignated)).toMatchInlineSnapshot(`
    [
      "It was never elected.",
      "It is not served now.",
    ]
  `);
});

test('one-that-is-leaving-and-was-chosen-is-not-said-to-be-out-of-the-question', () => {
  const fleet = fleetWith(fitHost('c1', LEAVING), routers(1), everywhere(['c1'], 1));
  look(fleet);
  expect(whySentences(service(fleet, 'nat:r0') as Service)).toEqual([
    'It was not served yet: c1 was chosen, the only candidate, with score 0, although it is leaving: no other host could take it.',
    'c1 is leaving and has it only because no other host could take it.',
  ]);
});

test('a-host-that-was-only-out-of-contact-is-not-said-to-be-lost', () => {
  const why = { cause: 'host-lost', chosen: 'c2', candidates: [], candidatesInAll: 0 } as const;
  const doc = { designated: { host: 'c2' }, why: { ...why, rejected: [], rejectedInAll: 0, atMs: 0 } };
  expect(whySentences(doc as unknown as Service)).toEqual([
    'Its host was out of contact, forced down or removed: c2 was chosen.',
  ]);
});

test('why-stays-small-however-many-hosts-there-are', () => {
  const names = Array.from({ length: 60 }, (_, nth) => `h${nth}`);
  const fleet = fleetWith(
    names.map((name, nth) => fitHost(name, nth % 2 === 0 ? {} : { serviceVersion: 1 })),
    routers(1),
    everywhere(names, 1),
  );
  look(fleet);
  const { why } = service(fleet, 'nat:r0') as Service;
  expect([why?.candidates.length, why?.candidatesInAll, why?.rejected.length, why?.rejectedInAll]).toEqual([
    10, 30, 10, 30,
  ]);
  expect(whySentences(service(fleet, 'nat:r0') as Service)[1]).toContain('and 20 more');
});

test.each([
  ['forced-down', { forcedDown: { reason: 'x', by: 'ann', atMs: 0 } }, 'Its host was forced down'],
  ['quarantined', { quarantined: { because: 'identity', atMs: 0 } }, 'Its host was put in quarantine'],
  ['removed', { state: 'finalizing' }, 'Its host was removed'],
  ['silent', { connection: { state: 'down', sinceMs: 0 } }, 'Its host was out of contact'],
] as const)('how-its-host-was-lost-is-told: %s', (lost, facts, words) => {
  const fleet = fleetWith(fitHost('a'), fitHost('b', { baseWeight: -9 }), routers(1), everywhere(['a', 'b'], 1));
  look(fleet);
  expect(hostOf(fleet, 'nat:r0')).toBe('a');
  fleet.apply(fleet.revision + 1, [fitHost('a', facts)]);
  look(fleet);
  const doc = service(fleet, 'nat:r0') as Service;
  expect(doc.why).toMatchObject({ cause: 'host-lost', lost });
  expect(whySentences(doc)[0]).toContain(`${words}: b was chosen`);
});

test('a-service-in-a-handover-is-not-reported-without-a-candidate', () => {
  const fleet = fleetWith(fitHost('c1', LEAVING), routers(1), everywhere(['c1'], 1));
  look(fleet);
  fleet.apply(fleet.revision + 1, [fitHost('c2'), ...everywhere(['c2'], 1)]);
  look(fleet);
  const sentences = whySentences(service(fleet, 'nat:r0') as Service);
  expect(sentences).toContain('A handover from c1 to c2 is under way (preparing).');
  expect(sentences.join(' ')).not.toContain('c1 is leaving and has it only');
});
