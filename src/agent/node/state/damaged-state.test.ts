// State files of an agent that are damaged, missing or of another host: nothing on the machine is changed by what they do not say,
// the host comes back by itself where a server can give what was lost, and the API reports it.
import { describe, expect, test } from 'vitest';
import { revokeTokenChange } from '../../../access/index.ts';
import { ALARM } from '../../../alarms/index.ts';
import { accept } from '../../../journal/index.ts';
import { LinkDown, DiskFailed, type WriteOptions, sealJson } from '../../../link/index.ts';
import type { Tap } from '../agent-fixture.ts';
import type { Disk, FileName } from '../ports.ts';
import {
  EMPTY_CONTENTS,
  peersOn,
  startSwitchWorld,
  untilConverged,
  type SwitchHost,
  type SwitchWorld,
} from '../switch/switch-world-fixture.ts';
import type { StateMemoryDisk } from './memory-disk.ts';

const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };
const CUT_OFF: Tap = () => Promise.reject(new LinkDown('cut'));
const LET_PASS: Tap = (_name, pass) => pass();

/** A disk on which one file cannot be read until it is written anew. */
class UnreadableFile implements Disk {
  readonly #disk: StateMemoryDisk;
  #unreadable: FileName | undefined;

  constructor(disk: StateMemoryDisk, unreadable: FileName) {
    this.#disk = disk;
    this.#unreadable = unreadable;
  }

  async read(name: FileName): Promise<string | undefined> {
    if (name === this.#unreadable) throw new DiskFailed(`cannot be read: permission denied`);
    return this.#disk.read(name);
  }

  readCopy(name: FileName): Promise<string | undefined> {
    return this.#disk.readCopy(name);
  }

  write(name: FileName, text: string, options?: WriteOptions): Promise<void> {
    if (name === this.#unreadable) this.#unreadable = undefined;
    return this.#disk.write(name, text, options);
  }
}

type Damage = (disk: StateMemoryDisk, file: FileName) => Promise<Disk> | Disk;

async function rewrite(disk: StateMemoryDisk, file: FileName, change: (text: string) => string): Promise<Disk> {
  await disk.write(file, change((await disk.read(file)) ?? ''));
  return disk;
}

const DAMAGES: readonly [string, Damage][] = [
  ['cut-off', (disk, file) => rewrite(disk, file, (text) => text.slice(0, text.length / 2))],
  ['empty', (disk, file) => rewrite(disk, file, () => '')],
  ['no-json', (disk, file) => rewrite(disk, file, () => '\0\0\0')],
  ['of-another-form', (disk, file) => rewrite(disk, file, () => '{"current":1,"token":1,"answers":1}')],
  ['changed-and-still-readable', (disk, file) => rewrite(disk, file, (text) => text.replace('c1', 'c7'))],
  ['unreadable', (disk, file) => new UnreadableFile(disk, file)],
];

const removed: Damage = (disk, file) => {
  disk.remove(file);
  return disk;
};

interface World extends SwitchWorld {
  readonly c1: SwitchHost;
}

/** Two hosts with a tunnel between them; the agent of the first has stopped. */
async function stoppedWorld(): Promise<World> {
  const made = await startSwitchWorld(['c1', 'c2']);
  const [c1] = made.hosts as [SwitchHost];
  await made.clock.until('it has its tunnel', () => peersOn(c1).length === 1);
  await c1.testHost.stop();
  return { ...made, c1 };
}

const problemsOf = ({ testHost }: SwitchHost): string => testHost.agent?.status().problems.join('\n') ?? '';
const degraded = ({ plane }: World): readonly string[] =>
  plane.host('c1')?.degraded?.map(({ type, code }) => `${type} ${code}`) ?? [];
const alarms = ({ plane }: World): string[] => [...plane.leader.journal.fleet.all(ALARM)].map(({ id }) => id);

async function remove({ plane, clock }: World): Promise<void> {
  for (const state of ['draining', 'drained', 'finalizing', 'removed'] as const) await plane.edit('c1', { state });
  const ended = plane.tokens('c1').map((token) => revokeTokenChange(token, 'test', clock.nowMs()));
  await plane.commit(() => accept(ended, null));
}

describe.each<FileName>(['identity', 'view', 'answers'])('the %s of an agent', (file) => {
  test.each(DAMAGES)(
    'that-is-%s-changes-nothing-on-the-machine, and the host is well again by itself',
    async (_name, damage) => {
      const world = await stoppedWorld();
      const { clock, c1 } = world;
      const { simulatedSwitch, testHost } = c1;
      const [before, changes] = [simulatedSwitch.contents, simulatedSwitch.changes];
      const disk = await damage(testHost.disk, file);
      testHost.link.tap = CUT_OFF;
      testHost.start({ disk, log: QUIET });
      await clock.pass(120_000);
      expect([simulatedSwitch.contents, simulatedSwitch.changes]).toEqual([before, changes]);
      expect(problemsOf(c1)).toContain(`agent-${file}.json `);
      testHost.link.tap = LET_PASS;
      await untilConverged(world);
      expect(peersOn(c1)).toEqual(['c2']);
      await clock.pass(30_000);
      expect([degraded(world), alarms(world)]).toEqual([['agent problems'], ['host-degraded:c1']]);
      // What was damaged is whole again: the next agent has nothing to report.
      if (file === 'answers') await rewrite(testHost.disk, file, () => '[]');
      await testHost.stop();
      testHost.start({ log: QUIET });
      await clock.pass(60_000);
      expect([problemsOf(c1), degraded(world), alarms(world)]).toEqual(['', [], []]);
    },
  );
});

describe('an identity', () => {
  test.each(['damaged', 'missing'])(
    'that-is-%s-with-its-copy-takes-a-new-join-token, and until then nothing is changed',
    async (how) => {
      const world = await stoppedWorld();
      const { clock, plane, c1 } = world;
      const { simulatedSwitch, testHost } = c1;
      const [before, changes] = [simulatedSwitch.contents, simulatedSwitch.changes];
      testHost.disk.forgetCopies();
      if (how === 'missing') testHost.disk.remove('identity');
      else await testHost.disk.write('identity', '{');
      testHost.start({ log: QUIET });
      await clock.pass(300_000);
      expect([simulatedSwitch.contents, simulatedSwitch.changes]).toEqual([before, changes]);
      expect(testHost.agent?.status()).toMatchObject({ host: undefined });
      if (how === 'damaged') expect(problemsOf(c1)).toMatch(/^agent-identity\.json .*new join token$/);
      c1.token = await plane.joinToken('c1');
      await untilConverged(world);
      expect(peersOn(c1)).toEqual(['c2']);
    },
  );

  test('that-is-missing-is-known-by-its-copy, which a server has to confirm once', async () => {
    const world = await stoppedWorld();
    const { testHost } = world.c1;
    testHost.disk.remove('identity');
    testHost.start({ log: QUIET });
    await untilConverged(world);
    expect(problemsOf(world.c1)).toContain('agent-identity.json is missing');
    await testHost.stop();
    testHost.link.tap = CUT_OFF;
    testHost.start();
    await world.clock.until('it goes on from its disk', () => testHost.agent?.status().applied !== undefined);
  });

  test('keeps-what-a-newer-version-wrote-beside-it', async () => {
    const world = await stoppedWorld();
    const { disk } = world.c1.testHost;
    const { sha256: _, ...identity } = JSON.parse((await disk.read('identity')) ?? '') as { readonly sha256: string };
    await disk.write('identity', sealJson({ ...identity, later: { a: 1 } }));
    world.c1.testHost.start();
    await untilConverged(world);
    expect(problemsOf(world.c1)).toBe('');
  });
});

test.each<[string, Damage]>([...DAMAGES, ['missing', removed]])(
  'never: a host that has left is set up again because its identity is %s',
  async (_name, damage) => {
    const world = await stoppedWorld();
    const { clock, c1 } = world;
    const joined = (await c1.testHost.disk.readCopy('identity')) ?? '';
    await remove(world);
    c1.testHost.start();
    await clock.until('it is wiped', () => peersOn(c1).length === 0);
    await clock.pass(10_000);
    await c1.testHost.stop();
    const { changes } = c1.simulatedSwitch;
    // An agent of an older version, which keeps no copy, was the one that left.
    c1.testHost.disk.putCopy('identity', joined);
    const disk = await damage(c1.testHost.disk, 'identity');
    c1.testHost.link.tap = CUT_OFF;
    c1.testHost.start({ disk, log: QUIET });
    await clock.pass(120_000);
    expect([c1.simulatedSwitch.contents, c1.simulatedSwitch.changes]).toEqual([EMPTY_CONTENTS, changes]);
    c1.testHost.link.tap = LET_PASS;
    await clock.until(
      'it learns that it was removed',
      () => c1.testHost.agent?.status().refusal?.code === 'host-removed',
    );
    expect(c1.simulatedSwitch.contents).toEqual(EMPTY_CONTENTS);
  },
);

test('a-removed-host-whose-view-is-lost-is-wiped-all-the-same', async () => {
  const world = await stoppedWorld();
  const { clock, c1 } = world;
  await remove(world);
  c1.testHost.disk.remove('view');
  c1.testHost.start();
  await clock.until('it has left', () => c1.testHost.agent?.status().refusal?.code === 'host-removed');
  await clock.pass(60_000);
  expect([c1.simulatedSwitch.contents, c1.simulatedSwitch.ownPorts]).toEqual([EMPTY_CONTENTS, []]);
});

test('the-view-of-another-host-is-not-applied', async () => {
  const world = await stoppedWorld();
  const { clock, c1, hosts } = world;
  const [before, changes] = [c1.simulatedSwitch.contents, c1.simulatedSwitch.changes];
  await c1.testHost.disk.write('view', (await hosts[1]?.testHost.disk.read('view')) ?? '');
  c1.testHost.link.tap = CUT_OFF;
  c1.testHost.start();
  await clock.pass(120_000);
  expect([c1.simulatedSwitch.contents, c1.simulatedSwitch.changes]).toEqual([before, changes]);
  c1.testHost.link.tap = LET_PASS;
  await untilConverged(world);
  expect(peersOn(c1)).toEqual(['c2']);
});

test('files-of-an-agent-of-before-checksums-are-read', async () => {
  const world = await stoppedWorld();
  const { disk } = world.c1.testHost;
  for (const file of ['identity', 'view', 'answers'] as const) {
    const { sha256: _, ...older } = JSON.parse((await disk.read(file)) ?? '') as { readonly sha256: string };
    await disk.write(file, JSON.stringify('answers' in older ? older.answers : older));
  }
  world.c1.testHost.link.tap = CUT_OFF;
  world.c1.testHost.start();
  await world.clock.until('it goes on', () => world.c1.testHost.agent?.status().applied !== undefined);
  expect(problemsOf(world.c1)).toBe('');
});
