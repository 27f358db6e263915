// Views as large as the fleet: composed and rendered in turns with other work, of one moment, and the same as in one go.
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { finish, type Fleet, type FleetReader } from '../../fleet/index.ts';
import { findHost, selfPart, type LargeViewPart, type ViewPart } from '../../hosts/index.ts';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';
import type { Reply } from '../../link/index.ts';
import { canonical, digestInSteps, digestOf } from '../protocol/digest.ts';
import type { View } from '../protocol/messages.ts';
import type { AgentIdentity } from './admission.ts';
import { composeView, isLarge } from './compose-view.ts';
import { TestControlPlane } from './control-plane-fixture.ts';
import { ViewComposer } from './view-composer.ts';
import { viewPieces } from './view-pieces.ts';

const KINDS = new Map();

/** A part with many entries, which takes a step for each; it states the host's networks first and last. */
function longPart(entries: number, built: { steps: number } = { steps: 0 }): LargeViewPart {
  const networksOf = (fleet: FleetReader, host: string) => findHost(fleet, host)?.doc.physicalNetworks;
  function* inSteps(fleet: FleetReader, host: string) {
    const first = networksOf(fleet, host);
    const list: object[] = [];
    for (let nth = 0; nth < entries; nth += 1) {
      list.push({ nth, name: `entry-${nth}` });
      built.steps += 1;
      yield;
    }
    return { first, list, last: networksOf(fleet, host) };
  }
  return { name: 'long', affects: selfPart.affects, buildInSteps: inSteps };
}

function watch(promise: Promise<unknown>): { readonly isOver: boolean } {
  const watched = { isOver: false };
  void promise.finally(() => Object.assign(watched, { isOver: true }));
  return watched;
}

describe('the digest of a view, in steps', () => {
  const values = fc.jsonValue({ maxDepth: 4 });

  test('is-that-of-the-whole', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(finish(digestInSteps(value))).toBe(digestOf(value));
      }),
    );
  });

  test.each([
    ['fields-that-are-absent', { a: undefined, b: [undefined, { c: undefined }], d: { e: undefined } }],
    ['nothing', undefined],
    ['empty', { a: [], b: {}, c: [{}, []] }],
    ['long', { list: Array.from({ length: 5000 }, (_, nth) => ({ nth, deep: { list: [nth, `${nth}`] } })) }],
  ])('is-that-of-the-whole: %s', (_name, value) => {
    expect(finish(digestInSteps(value))).toBe(digestOf(value));
  });

  test('goes-on-after-some-text', () => {
    const list = Array.from({ length: 20_000 }, (_, nth) => ({ host: `host-${nth}` }));
    const pieces = [...digestInSteps({ list })].length;
    expect(pieces).toBeGreaterThan(canonical(list).length / (32 * 1024));
  });
});

describe('the composer', () => {
  function composerOf(...parts: ViewPart[]) {
    const turns: (() => void)[] = [];
    // Time stands still: a slice ends by its steps.
    const clock = { nowMs: () => 0, turn: () => new Promise<void>((resolve) => turns.push(resolve)) };
    const fleet = { revision: 7, find: () => [], get: () => undefined } as unknown as Fleet;
    const journal = { fleet, journalId: 'j', fence: { lease: 'fleet', epoch: 3 } as { epoch: number } | undefined };
    const composer = new ViewComposer({ journal, clock, source: { parts, kinds: KINDS } } as never);
    const turn = async (): Promise<void> => {
      for (const resume of turns.splice(0)) resume();
      for (let nth = 0; nth < 20; nth += 1) await Promise.resolve();
    };
    const untilDone = async <T>(promise: Promise<T>): Promise<T> => {
      const watched = watch(promise);
      for (let nth = 0; nth < 1000 && !watched.isOver; nth += 1) await turn();
      return promise;
    };
    return { composer, journal, fleet, turn, untilDone };
  }

  test('composes-a-small-view-at-once', () => {
    const { composer, fleet } = composerOf(longPart(10));
    const view = composer.compose('c1');
    expect(view).toEqual(
      composeView(fleet, { parts: [longPart(10)], kinds: KINDS }, 'c1', { journalId: 'j', leaseEpoch: 3 }),
    );
  });

  test('composes-a-large-one-in-turns-with-other-work: the same', async () => {
    const built = { steps: 0 };
    const { composer, fleet, turn, untilDone } = composerOf(longPart(1000, built));
    const composing = composer.compose('c1') as Promise<View>;
    expect(composing).toBeInstanceOf(Promise);
    expect(built.steps).toBeLessThan(100);
    await turn();
    await turn();
    expect(built.steps).toBeLessThan(500);
    const whole = composeView(fleet, { parts: [longPart(1000)], kinds: KINDS }, 'c1', {
      journalId: 'j',
      leaseEpoch: 3,
    });
    const view = await untilDone(composing);
    expect(view).toEqual(whole);
    expect(composer.isCurrent('c1', whole.digest)).toBe(true);
  });

  test('composes-one-large-view-at-a-time, and-one-that-is-asked-for-twice-once', async () => {
    const built = { steps: 0 };
    const { composer, turn, untilDone } = composerOf(longPart(1000, built));
    const all = ['c1', 'c2', 'c3', 'c1'].map((host) => composer.compose(host) as Promise<View>);
    const begun = built.steps;
    await turn();
    const after = built.steps;
    // One slice, not one of each.
    expect(after - begun).toBeLessThanOrEqual(200);
    await untilDone(Promise.all(all));
    expect(built.steps).toBe(3000);
  });

  test('begins-anew-when-a-change-affects-the-host, and-ends-all-the-same-when-that-does-not-stop', async () => {
    const built = { steps: 0 };
    const { composer, turn, untilDone } = composerOf(longPart(500, built));
    const composing = composer.compose('c1') as Promise<View>;
    const watched = watch(composing);
    for (let nth = 0; nth < 50 && !watched.isOver; nth += 1) {
      composer.invalidate('c1');
      await turn();
    }
    expect(watched.isOver).toBe(true);
    expect(built.steps).toBeGreaterThan(600);
    expect(built.steps).toBeLessThan(4 * 500);
    expect((await untilDone(composing)).host).toBe('c1');
  });

  test('begins-anew-when-the-agent-turns-out-to-know-other-words', async () => {
    const bfd: ViewPart = { name: 'bfd', build: () => ({ intervalMs: 100, peers: [] }), affects: () => [] };
    const { composer, turn, untilDone } = composerOf(bfd, longPart(500));
    const composing = composer.compose('c1') as Promise<View>;
    await turn();
    composer.setWords('c1', 'former');
    const { parts, digest, host, tasks } = await untilDone(composing);
    expect(parts).toMatchObject({ heartbeats: { everyMs: 100, peers: [] } });
    expect(parts).not.toHaveProperty('bfd');
    expect(digestOf({ host, parts, tasks })).toBe(digest);
    expect(composer.isCurrent('c1', digest)).toBe(true);
    composer.setWords('c1', 'former');
    expect(composer.isCurrent('c1', digest)).toBe(true);
    composer.setWords('c1', 'glossary');
    expect(composer.isCurrent('c1', digest)).toBe(false);
    // What it has applied in those words holds all the same.
    expect(composer.isValidAt('c1', digest, 7)).toBe(true);
  });

  test('does-not-begin-anew-for-another-host', async () => {
    const built = { steps: 0 };
    const { composer, turn, untilDone } = composerOf(longPart(500, built));
    const composing = composer.compose('c1') as Promise<View>;
    await turn();
    composer.invalidate('c2');
    await untilDone(composing);
    expect(built.steps).toBe(500);
  });

  test('composes-nothing-under-a-lease-that-is-lost', async () => {
    const { composer, journal, turn, untilDone } = composerOf(longPart(500));
    const composing = composer.compose('c1') as Promise<View | undefined>;
    await turn();
    journal.fence = undefined;
    expect(await untilDone(composing)).toBeUndefined();
    expect(composer.compose('c1')).toBeUndefined();
  });
});

describe('the gateway with large views', () => {
  const SECRET = `agents-own-${'s'.repeat(40)}`;

  function answerOf<A>(reply: Reply<A>): A {
    if (reply.kind !== 'answer') throw new Error(`no answer but ${JSON.stringify(reply)}`);
    return reply.answer;
  }

  async function worldOf(part: ViewPart) {
    const clock = new VirtualClock();
    const plane = new TestControlPlane(clock, 'journal-1', [], [selfPart, part]);
    const { gateway } = await plane.start('s1');
    await clock.until('there is a lease holder', () => plane.hasLeader);
    await plane.register('c1');
    const { token } = answerOf(await gateway.join(await plane.joinToken('c1'), { secret: SECRET }));
    await clock.settle();
    onTestFinished(() => plane.close());
    const identity: AgentIdentity = { host: 'c1', token };
    return { clock, plane, gateway, identity };
  }

  test('sends-the-view-of-one-moment: a change in between is in all of it', async () => {
    const { plane, gateway, identity } = await worldOf(longPart(2000));
    const pendingView = gateway.view(identity, {});
    await plane.edit('c1', { physicalNetworks: ['p1'] });
    const answer = answerOf(await pendingView);
    if (answer.kind !== 'view') throw new Error('no view');
    const { first, last } = answer.view.parts['long'] as { readonly first: unknown; readonly last: unknown };
    expect(first).toEqual(last);
  });

  test('refuses-one-whose-credential-is-superseded-meanwhile', async () => {
    const { plane, gateway, identity } = await worldOf(longPart(2000));
    const pendingView = gateway.view(identity, {});
    answerOf(await gateway.join(await plane.joinToken('c1'), { secret: SECRET }));
    expect(await pendingView).toMatchObject({ kind: 'refused' });
  });

  test('says-that-a-host-has-converged-once-its-view-is-composed, and-tells-who-waits', async () => {
    const { clock, plane, gateway, identity } = await worldOf(longPart(2000));
    gateway.heartbeat(identity, { serviceVersion: 4 });
    await clock.settle();
    const answer = answerOf(await gateway.view(identity, {}));
    if (answer.kind !== 'view') throw new Error('no view');
    gateway.heartbeat(identity, { serviceVersion: 4, applied: answer.view.digest });
    // Another view, and back: what it has applied is its view again, which is not composed yet.
    for (const physicalNetworks of [['p1'], []]) await plane.edit('c1', { physicalNetworks });
    await clock.settle();
    const { revision } = plane.leader.journal.fleet;
    const announced: string[] = [];
    gateway.reports.onConvergence((host) => announced.push(host));
    expect(gateway.hasConverged('c1', revision)).toBe(false);
    await clock.until('it is composed', () => announced.length > 0);
    expect(announced).toEqual(['c1']);
    expect(gateway.hasConverged('c1', revision)).toBe(true);
  });
});

test('a-large-view-in-pieces-is-the-same-text', () => {
  const entry = (nth: number) => ({ host: `c${nth}`, tunnelAddress: `10.0.0.${nth}`, undefinedIsLeftOut: undefined });
  const parts = {
    peers: Array.from({ length: 300 }, (_, nth) => entry(nth)),
    networks: { domains: [{ id: 'd', remotePorts: Array.from({ length: 300 }, (_, nth) => entry(nth)) }], routers: [] },
    empty: [],
  };
  expect(isLarge(parts)).toBe(true);
  const view = { host: 'c1', stamp: { journalId: 'j', leaseEpoch: 1, revision: 2 }, digest: 'd', parts, tasks: [] };
  const found = { kind: 'view', view } as const;
  expect([...viewPieces(found)].join('')).toBe(JSON.stringify(found));
});

const LONG = Array.from({ length: 256 }, () => ({}));

test.each([
  ['short-lists', false, { self: { name: 'c1' }, peers: [{ host: 'c2' }] }],
  ['a-long-list', true, { peers: LONG }],
  ['a-long-list-in-a-domain', true, { networks: { domains: [{ remotePorts: LONG }] } }],
])('a-view-with-%s: large is %s', (_name, expected, parts) => {
  expect(isLarge(parts)).toBe(expected);
});
