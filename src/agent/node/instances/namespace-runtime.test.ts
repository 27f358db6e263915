import { describe, expect, test } from 'vitest';
import { interfaceOf } from '../../../dataplane/index.ts';
import { callFor } from './runtime-bench-fixture.ts';
import type { InstanceSpec, RuntimeView } from './instance-runtime.ts';
import { AMOUNTS } from './instance-tasks-fixture.ts';
import { FakeNamespaceHost } from './namespace-host-fixture.ts';
import type { NamespaceRuntime } from './namespace-runtime.ts';
import { StateDamaged } from '../ports.ts';

const WEB: InstanceSpec = {
  id: 'web',
  vcpus: 1,
  memoryMiB: 64,
  diskGiB: 1,
  nics: [
    {
      port: 'p1',
      network: 'blue',
      backEnd: 'embedded',
      nic: 0,
      mac: '02:00:00:00:00:01',
      addresses: ['10.0.0.7'],
      serial: 1,
      createdBy: 'muster',
    },
  ],
};
const BLUE = { id: 'blue-v4', network: 'blue', domain: 'network/blue', cidr: '10.0.0.0/24', gateway: '10.0.0.1' };
const VIEW = { instances: undefined, underTask: new Set<string>(), migrating: new Set<string>(), subnets: [BLUE] };
const CALL = callFor('build-1');

test('an-order-that-is-faster-than-its-view-waits-for-what-the-view-says-of-subnets', async () => {
  const machine = new FakeNamespaceHost();
  let over = false;
  void machine.runtime.build(WEB, CALL).then(() => (over = true));
  await machine.clock.pass(700);
  expect([over, machine.commands]).toEqual([false, []]);
  await machine.runtime.observeView(VIEW);
  await machine.clock.pass(1);
  expect(over).toBe(true);
  expect(machine.commands).toContain('-n h1-web addr add 10.0.0.7/24 dev eth0');
  expect(machine.commands).toContain('-n h1-web route add default via 10.0.0.1 dev eth0');
  expect(machine.plugged).toEqual([`plug ${interfaceOf('p1')}`]);
});

test('the-switch-of-the-host-sees-one-change-of-a-link: the line comes onto its host when all else is done', async () => {
  const machine = new FakeNamespaceHost();
  await machine.runtime.observeView(VIEW);
  await machine.runtime.build(WEB, CALL);
  const [line, left] = [interfaceOf('p1'), `-n h1 link del ${interfaceOf('p1')}`];
  const touching = machine.commands.filter((words) => /\bh1(?: |$)/.test(words) && words !== left);
  expect(touching).toEqual([`-n h1-web link set ${line} addrgenmode none netns h1 up`]);
  expect(machine.commands.at(-1)).toBe(touching[0]);
});

test('one-whose-subnet-is-never-shown-is-made-with-its-address-alone', async () => {
  const machine = new FakeNamespaceHost();
  let over = false;
  void machine.runtime.build(WEB, CALL).then(() => (over = true));
  await machine.clock.pass(5000);
  expect(over).toBe(true);
  expect(machine.commands).toContain('-n h1-web addr add 10.0.0.7/32 dev eth0');
});

test('what-is-there-is-only-plugged, and-what-no-record-explains-stays-and-is-a-stray', async () => {
  const machine = new FakeNamespaceHost();
  await machine.runtime.observeView(VIEW);
  await machine.runtime.build(WEB, CALL);
  machine.namespaces.add('h1-old').add('h10-web');
  [machine.commands.length, machine.plugged.length] = [0, 0];
  const next = machine.start();
  await next.open();
  expect(machine.commands).toEqual([]);
  expect(machine.plugged).toEqual([`plug ${interfaceOf('p1')}`]);
  expect(await next.findStrays()).toEqual(['old']);
});

test('one-that-was-half-made-by-a-process-that-ended-is-made-anew', async () => {
  const machine = new FakeNamespaceHost();
  await machine.runtime.observeView(VIEW);
  machine.namespaces.add('h1-web');
  await machine.runtime.build(WEB, CALL);
  expect(machine.commands.filter((words) => /^netns (add|del)/.test(words))).toEqual([
    'netns del h1-web',
    'netns add h1-web',
  ]);
});

test('the-lines-of-others-stay-when-one-goes', async () => {
  const machine = new FakeNamespaceHost();
  machine.namespaces.add('h1-web').add('h1-old');
  const line = (number: number, name: string, end: string): string =>
    `${number}: ${name}@if2: <BROADCAST> mtu 1500\\    link/ether ba:20:6d:3a:17:6c brd ff:ff:ff:ff:ff:ff link-netns ${end}\n`;
  machine.links = `${line(2, interfaceOf('p1'), 'h1-web')}${line(3, 'mp0123', 'h1-old')}`;
  await machine.runtime.destroy('old', CALL);
  expect(machine.commands).toEqual(['-n h1 link del mp0123', 'netns del h1-old']);
  expect(machine.plugged).toEqual(['unplug mp0123']);
});

test('one-that-cannot-be-deleted-is-not-said-to-be-gone', async () => {
  const machine = new FakeNamespaceHost();
  machine.namespaces.add('h1-web');
  machine.refuses = 'netns del';
  await expect(machine.runtime.destroy('web', CALL)).rejects.toThrow('cannot be deleted');
});

describe('a host that lost its record of instances', () => {
  const expected = (...ids: readonly string[]): RuntimeView => ({
    instances: ids.map((id) => ({ id, role: 'home', state: 'active', amounts: AMOUNTS, ports: [] })),
    underTask: new Set(),
    migrating: new Set(),
    subnets: [],
  });

  async function withoutRecord(): Promise<{ machine: FakeNamespaceHost; next: NamespaceRuntime }> {
    const machine = new FakeNamespaceHost();
    for (const id of ['web', 'db']) await machine.runtime.build({ ...WEB, id, nics: [] }, CALL);
    await machine.disk.write('machine', '{');
    const next = machine.start();
    await expect(next.open()).rejects.toThrow(StateDamaged);
    return { machine, next };
  }

  test('goes-on-when-exactly-that-runs-which-the-view-says', async () => {
    const { machine, next } = await withoutRecord();
    await next.observeView(expected('web', 'db'));
    await next.open();
    expect(next.instances.map(({ id, state, by }) => `${id} ${state} ${by}`)).toEqual([
      'db running recovered',
      'web running build-1',
    ]);
    const after = machine.start();
    await after.open();
    expect(after.instances).toEqual(next.instances);
  });

  test.each<[string, RuntimeView]>([
    ['says-of-one-more', expected('web', 'db', 'third')],
    ['says-of-one-less', expected('web')],
    ['says-nothing-of-instances', { ...expected(), instances: undefined }],
    ['has-a-task-about-one', { ...expected('web', 'db'), underTask: new Set(['web']) }],
    [
      'expects-one',
      {
        ...expected('web', 'db'),
        instances: expected('web', 'db').instances?.map((one) => ({ ...one, role: 'incoming' })),
      },
    ],
    [
      'builds-one',
      {
        ...expected('web', 'db'),
        instances: expected('web', 'db').instances?.map((one) => ({ ...one, state: 'building' })),
      },
    ],
  ])('does-not-when-the-view-%s', async (_name, view) => {
    const { machine, next } = await withoutRecord();
    await next.observeView(view);
    await expect(next.open()).rejects.toThrow(StateDamaged);
    expect([...machine.namespaces].sort()).toEqual(['h1-db', 'h1-web']);
  });

  test('knows-it-by-what-runs-when-an-agent-of-before-left-no-trace-of-a-file', async () => {
    const machine = new FakeNamespaceHost();
    machine.namespaces.add('h1-web');
    await expect(machine.runtime.open()).rejects.toThrow(StateDamaged);
    await machine.runtime.observeView(expected('web'));
    await machine.runtime.open();
    expect(machine.runtime.instances.map(({ id }) => id)).toEqual(['web']);
  });
});
