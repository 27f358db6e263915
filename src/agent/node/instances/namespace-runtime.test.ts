import { expect, test } from 'vitest';
import { interfaceOf } from '../../../dataplane/index.ts';
import type { NamespaceCommand } from './namespace-commands.ts';
import { NamespaceRuntime } from './namespace-runtime.ts';
import type { RuntimeInstance } from './simulated-runtime.ts';
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';

const WEB: RuntimeInstance = {
  id: 'web',
  state: 'running',
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
  by: 'build-1',
};
const BLUE = { id: 'blue-v4', network: 'blue', domain: 'network/blue', cidr: '10.0.0.0/24', gateway: '10.0.0.1' };

class FakeHost {
  readonly clock = new VirtualClock();
  readonly said: string[] = [];
  readonly plugged: string[] = [];
  /** As `ip` lists them on the host. */
  links = '';
  /** What there is, by name. */
  readonly there = new Set<string>();
  readonly namespaces = new NamespaceRuntime({
    hostNamespace: 'h1',
    run: (command) => this.#run(command),
    clock: this.clock,
    plugs: {
      plug: async (port) => void this.plugged.push(`plug ${port}`),
      unplug: async (port) => void this.plugged.push(`unplug ${port}`),
    },
  });

  async #run(command: NamespaceCommand): Promise<string> {
    const [, ...words] = command;
    if (words.join(' ') === 'netns list') return [...this.there].map((name) => `${name} (id: 1)\n`).join('');
    if (words.join(' ') === '-n h1 -o link show type veth') return this.links;
    if (words[0] === 'netns' && words[1] === 'add') this.there.add(words[2] ?? '');
    if (words[0] === 'netns' && words[1] === 'del') this.there.delete(words[2] ?? '');
    this.said.push(words.join(' '));
    return '';
  }
}

test('an-order-that-is-faster-than-its-view-waits-for-what-the-view-says-of-subnets', async () => {
  const machine = new FakeHost();
  let over = false;
  void machine.namespaces.reconcile([WEB]).then(() => (over = true));
  await machine.clock.pass(700);
  expect([over, machine.said]).toEqual([false, []]);
  machine.namespaces.updateSubnets([BLUE]);
  await machine.clock.pass(1);
  expect(over).toBe(true);
  expect(machine.said).toContain('-n h1-web addr add 10.0.0.7/24 dev eth0');
  expect(machine.said).toContain('-n h1-web route add default via 10.0.0.1 dev eth0');
  expect(machine.plugged).toEqual([`plug ${interfaceOf('p1')}`]);
});

test('the-switch-of-the-host-sees-one-change-of-a-link: the line comes onto its host when all else is done', async () => {
  const machine = new FakeHost();
  machine.namespaces.updateSubnets([BLUE]);
  await machine.namespaces.reconcile([WEB]);
  const [line, left] = [interfaceOf('p1'), `-n h1 link del ${interfaceOf('p1')}`];
  const touching = machine.said.filter((words) => /\bh1(?: |$)/.test(words) && words !== left);
  expect(touching).toEqual([`-n h1-web link set ${line} addrgenmode none netns h1 up`]);
  expect(machine.said.at(-1)).toBe(touching[0]);
});

test('one-whose-subnet-is-never-shown-is-made-with-its-address-alone', async () => {
  const machine = new FakeHost();
  let over = false;
  void machine.namespaces.reconcile([WEB]).then(() => (over = true));
  await machine.clock.pass(5000);
  expect(over).toBe(true);
  expect(machine.said).toContain('-n h1-web addr add 10.0.0.7/32 dev eth0');
});

test('what-is-there-is-only-plugged, and-what-runs-no-more-goes', async () => {
  const machine = new FakeHost();
  machine.namespaces.updateSubnets([BLUE]);
  machine.there.add('h1-web').add('h1-old').add('h10-web');
  await machine.namespaces.reconcile([WEB]);
  expect(machine.said.filter((words) => words.startsWith('netns'))).toEqual(['netns del h1-old']);
  expect(machine.plugged).toEqual([`plug ${interfaceOf('p1')}`]);
  await machine.namespaces.reconcile([{ ...WEB, state: 'prepared' }]);
  expect([...machine.there]).toEqual(['h10-web']);
});

test('the-lines-of-others-stay-when-one-goes', async () => {
  const machine = new FakeHost();
  machine.namespaces.updateSubnets([BLUE]);
  machine.there.add('h1-web').add('h1-old');
  const line = (number: number, name: string, end: string): string =>
    `${number}: ${name}@if2: <BROADCAST> mtu 1500\\    link/ether ba:20:6d:3a:17:6c brd ff:ff:ff:ff:ff:ff link-netns ${end}\n`;
  machine.links = `${line(2, interfaceOf('p1'), 'h1-web')}${line(3, 'mp0123', 'h1-old')}`;
  await machine.namespaces.reconcile([WEB]);
  expect(machine.said).toEqual(['-n h1 link del mp0123', 'netns del h1-old']);
  expect(machine.plugged).toEqual(['unplug mp0123', `plug ${interfaceOf('p1')}`]);
});
