// Agents and servers one version apart, through a handover: each view is in the words that its agent knows, under a digest and a signature
// that it can check, and both kinds of agents converge on it.
import { expect, onTestFinished, test } from 'vitest';
import { bfdPart, peersPart, servicesPart } from '../../dataplane/index.ts';
import { SimulatedSwitch } from '../../dataplane/runtime.ts';
import { SERVICE, type Handover, type Service } from '../../election/index.ts';
import { anyWhy } from '../../election/why-fixture.ts';
import { idOf, put } from '../../fleet/index.ts';
import { selfPart } from '../../hosts/index.ts';
import { accept } from '../../journal/index.ts';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';
import { TRANSPORT_ZONE } from '../../network/index.ts';
import { digestOf } from '../protocol/digest.ts';
import type { View, ViewResponse } from '../protocol/messages.ts';
import { TestControlPlane } from '../server/control-plane-fixture.ts';
import { TestHost } from './agent-fixture.ts';

/** What goes over the link of an agent of 0.1.0, or to a server of 0.1.0: neither says anything of words. */
function speakFormerWords({ link }: TestHost): void {
  const view = link.view.bind(link);
  link.view = (to, { words: _, ...ask }, signal) => view(to, ask, signal);
}

class World {
  readonly clock = new VirtualClock();
  readonly plane = new TestControlPlane(this.clock, 'journal-1', [], [selfPart, peersPart, servicesPart, bfdPart]);
  readonly hosts = new Map<string, TestHost>();

  static async start(former: readonly string[]): Promise<World> {
    const world = new World();
    const { clock, plane } = world;
    await plane.start('s1');
    await clock.until('there is a holder', () => plane.hasLeader);
    const zone = { name: 'default', mesh: 'full' as const, changedBy: 'test', changedAtMs: 0 };
    await plane.commit(() => accept([put(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'default'), zone)], null));
    await plane.register('c1', 'c2');
    for (const name of ['c1', 'c2']) await world.#add(name, former.includes(name));
    onTestFinished(async () => {
      await Promise.all([...world.hosts.values()].map((host) => host.stop()));
      await plane.close();
      expect(plane.violations).toEqual([]);
    });
    await clock.until('both are in service', () => ['c1', 'c2'].every((name) => plane.host(name)?.state === 'active'));
    return world;
  }

  async #add(name: string, isFormer: boolean): Promise<void> {
    await this.plane.edit(name, { tunnelAddress: `172.16.0.${this.hosts.size + 1}` });
    const token = await this.plane.joinToken(name);
    const machine = { switch: new SimulatedSwitch({ host: name, clock: this.clock }) };
    const host = new TestHost(this.plane, { name, joinToken: () => Promise.resolve(token), machine });
    if (isFormer) speakFormerWords(host);
    this.hosts.set(name, host);
    host.start();
  }

  host(name: string): TestHost {
    const host = this.hosts.get(name);
    if (host === undefined) throw new Error(`no host ${name}`);
    return host;
  }

  async setPhase(phase: Handover['phase']): Promise<void> {
    const why = anyWhy();
    const isBefore = phase === 'preparing' || phase === 'syncing';
    const service: Service = {
      ...{ type: 'nat', subject: 'edge', exclusion: 'soft', onControlLoss: 'move', changedBy: 'test', changedAtMs: 0 },
      epoch: isBefore ? 1 : 2,
      designated: { host: isBefore ? 'c1' : 'c2', sinceMs: 0 },
      handover: { operation: 'op', from: 'c1', to: 'c2', phase, why, sinceMs: 0 },
    };
    await this.plane.commit(() => accept([put(SERVICE, idOf(SERVICE, 'nat:edge'), service)], null));
  }

  async untilConverged(): Promise<void> {
    const { journal, gateway } = this.plane.leader;
    const { revision } = journal.fleet;
    await this.clock.until('both have converged', () =>
      ['c1', 'c2'].every((name) => gateway.hasConverged(name, revision)),
    );
  }

  viewOf(name: string): View {
    const { view } = this.host(name).driver;
    if (view === undefined) throw new Error(`${name} has no view`);
    return view;
  }
}

/** What of a view is said in other words. */
function wordsIn({ parts }: View): readonly unknown[] {
  const [service] = parts['services'] as readonly object[];
  const said = Object.entries(service ?? {}).filter(([name]) => /^hand/i.test(name));
  const { bfd, heartbeats } = parts as { bfd?: { intervalMs: number }; heartbeats?: { everyMs: number } };
  return [
    ...said.map(([name, value]) => `${name} ${(value as { phase: string }).phase}`),
    ...(bfd === undefined ? [] : [`bfd ${bfd.intervalMs}`]),
    ...(heartbeats === undefined ? [] : [`heartbeats ${heartbeats.everyMs}`]),
  ];
}

const PRESENT = (phase: string): readonly string[] => [`handover ${phase}`, 'bfd 100'];
const FORMER = (phase: string): readonly string[] => [`handOver ${phase}`, 'heartbeats 100'];

test('two-agents-a-version-apart-are-each-told-in-their-words-and-converge', async () => {
  const world = await World.start(['c2']);
  for (const [phase, former] of [
    ['preparing', 'preparing'],
    ['syncing', 'seeding'],
    ['switched', 'switched'],
    ['resyncing', 'reseeding'],
  ] as const) {
    await world.setPhase(phase);
    await world.untilConverged();
    expect(wordsIn(world.viewOf('c1'))).toEqual(PRESENT(phase));
    expect(wordsIn(world.viewOf('c2'))).toEqual(FORMER(former));
    for (const { host, digest, parts, tasks } of ['c1', 'c2'].map((name) => world.viewOf(name)))
      expect(digestOf({ host, parts, tasks })).toBe(digest);
  }
});

test('a-view-that-was-changed-on-the-way-is-not-believed-in-either-words', async () => {
  const world = await World.start(['c2']);
  for (const name of ['c1', 'c2']) {
    world.host(name).link.tap = async (call, pass) => {
      const reply = await pass();
      if (call !== 'view' || reply.kind !== 'answer') return reply;
      const answer = reply.answer as ViewResponse;
      if (answer.kind === 'unchanged') return reply;
      return { ...reply, answer: { ...answer, view: { ...answer.view, parts: {} } } };
    };
  }
  // The polls that wait already were begun before.
  await world.clock.pass(60_000);
  await world.setPhase('preparing');
  await world.clock.pass(60_000);
  for (const name of ['c1', 'c2']) expect(world.viewOf(name).parts['services']).toEqual([]);
});

test('an-agent-that-is-upgraded-gets-the-words-that-it-knows-and-was-converged-all-the-while', async () => {
  const world = await World.start(['c1', 'c2']);
  await world.setPhase('switched');
  await world.untilConverged();
  const { revision } = world.plane.leader.journal.fleet;
  const c2 = world.host('c2');
  await c2.stop();
  c2.moveTo(world.plane);
  c2.start();
  await world.clock.until('it has the words of today', () => wordsIn(world.viewOf('c2')).includes('bfd 100'));
  expect(wordsIn(world.viewOf('c2'))).toEqual(PRESENT('switched'));
  expect(world.plane.leader.journal.fleet.revision).toBe(revision);
  await world.untilConverged();
});
