import { expect, test } from 'vitest';
import { OvsSwitch } from '../../src/dataplane/runtime.ts';
import { conntrackContract } from '../../src/dataplane/switch/conntrack-contract.ts';
import { switchContract, type SwitchUnderTest } from '../../src/dataplane/switch/contract.ts';
import { compile, diff, EMPTY_COMPILE_RESULT, type SwitchChange } from '../../src/dataplane/index.ts';
import { C2, nat, subnetService, view } from '../../src/dataplane/compile/dataplane-view-fixture.ts';
import { portName } from '../../src/dataplane/switch/derived-ids.ts';
import type { ServiceView } from '../../src/dataplane/view/dataplane-view.ts';
import { realClock } from '../../src/main/clock.ts';
import { start, type OvsDaemons } from './ovs-daemons.ts';
import { ovsSuite } from './suite.ts';

function openOn(daemons: OvsDaemons, external?: string): OvsSwitch {
  return new OvsSwitch({
    database: daemons.db,
    openFlow: daemons.bridgeMgmt('br-int'),
    control: daemons.ctl,
    bridge: 'br-int',
    external,
    datapath: 'netdev',
    clock: realClock,
    random: Math.random,
  });
}

/** By the programs that come with the switch, as another program would. */
async function applyForeign(daemons: OvsDaemons, changes: readonly SwitchChange[]): Promise<void> {
  for (const change of changes) {
    if (change.kind === 'set-external-id') {
      await daemons.vsctl('br-set-external-id', 'br-int', change.key, change.value ?? '');
    } else if (change.kind === 'put-flow') {
      const { table, priority, match, actions, cookie } = change.flow;
      const flow = `cookie=0x${cookie},table=${table},priority=${priority}${match === '' ? '' : ','}${match},actions=${actions}`;
      await daemons.ofctl('add-flow', 'br-int', flow);
    } else throw new Error(`nobody meddles by ${change.kind}`);
  }
}

async function portsOf(daemons: OvsDaemons, bridge: string): Promise<string[]> {
  return (await daemons.vsctl('list-ports', bridge)).split('\n').filter((name) => name !== '');
}

async function ownPorts(daemons: OvsDaemons): Promise<string[]> {
  return (await portsOf(daemons, 'br-int')).map((name) => `"${name}"`);
}

const HANDOVER = { phase: 'switched', other: 'c2', tunnelAddress: C2.tunnelAddress } as const;
const FLOATING = [{ outside: '198.51.100.20', inside: '10.0.0.11', via: '198.51.100.1' }];
const ROLES: readonly Partial<ServiceView>[] = [
  {},
  { role: 'designated', designated: { host: 'c1' }, floating: FLOATING },
  { role: 'preparing', handover: { ...HANDOVER, phase: 'preparing' } },
  { role: 'retiring', handover: HANDOVER },
  { role: 'retiring', handover: { ...HANDOVER, phase: 'retiring' } },
  { standby: 'c3' },
  { role: 'standby', standby: 'c1' },
  { role: 'designated', designated: { host: 'c1' }, standby: 'c3' },
];

ovsSuite('the switch of a host on Open vSwitch', () => {
  test('whatever-is-compiled-is-taken, reads-back-as-it-was-compiled, and-goes-again', async () => {
    const daemons = await start();
    const it = openOn(daemons, 'ext0');
    try {
      await it.setUp();
      await daemons.addDummyPort('br-int', portName('port-1').slice(1, -1), 11);
      await daemons.vsctl('set', 'interface', 'ext0', 'type=dummy');
      for (const facts of ROLES) {
        const services = [nat(facts), subnetService('subnet-route', facts), subnetService('dhcp', facts)];
        const { contents } = compile(
          view({ services, tombstoned: true, bfd: { intervalMs: 100, peers: ['c2', 'c3'] } }),
        );
        const { changes, missingPorts } = diff(contents, await it.read());
        expect(missingPorts).toEqual([]);
        await it.apply(changes);
        expect(diff(contents, await it.read()).changes).toEqual([]);
      }
      await it.apply(diff(EMPTY_COMPILE_RESULT.contents, await it.read()).changes);
      expect(await it.read()).toMatchObject({ flows: [], groups: [], tunnels: [] });
    } finally {
      await it.close();
      await daemons.close();
    }
  });

  test.each([
    ['an interface', 'ext0', ['muster-tun', 'ext0'], []],
    ['a bridge', 'br-ex', ['muster-tun', 'muster-ext'], ['muster-ext-far']],
  ])(
    'what-it-made-goes-when-it-is-torn-down, and-the-bridge-stays: the way out is %s',
    async (_what, external, here, there) => {
      const daemons = await start();
      const it = openOn(daemons, external);
      try {
        await daemons.vsctl('add-br', 'br-ex', '--', 'set', 'bridge', 'br-ex', 'datapath_type=netdev');
        await it.setUp();
        await daemons.addDummyPort('br-int', 'theirs', 12);
        expect((await portsOf(daemons, 'br-int')).sort()).toEqual([...here, 'theirs'].sort());
        expect(await portsOf(daemons, 'br-ex')).toEqual(there);
        await it.tearDown();
        await it.read();
        expect([await portsOf(daemons, 'br-int'), await portsOf(daemons, 'br-ex')]).toEqual([['theirs'], []]);
      } finally {
        await it.close();
        await daemons.close();
      }
    },
  );

  test('an-external-interface-that-is-not-there-is-a-failure-of-the-switch-until-it-comes', async () => {
    const daemons = await start();
    const it = openOn(daemons, 'ext0');
    try {
      await it.setUp();
      expect(await it.probe()).toMatchObject({
        code: 'interface-not-opened',
        message: expect.stringMatching(/^it could not open ext0: /) as string,
      });
      await daemons.vsctl('set', 'Interface', 'ext0', 'type=dummy');
      await it.identity();
      expect(await it.probe()).toBe(undefined);
    } finally {
      await it.close();
      await daemons.close();
    }
  });

  test('never: an interface that another program plugged in as the way out is taken away', async () => {
    const daemons = await start();
    const it = openOn(daemons, 'ext0');
    try {
      await it.identity();
      await daemons.addDummyPort('br-int', 'ext0', 12);
      await it.setUp();
      await it.tearDown();
      expect(await portsOf(daemons, 'br-int')).toEqual(['ext0']);
    } finally {
      await it.close();
      await daemons.close();
    }
  });

  test('connections-that-another-host-saw-begin-are-tracked, also-by-a-switch-that-was-started-again', async () => {
    const daemons = await start();
    const it = openOn(daemons);
    try {
      await it.identity();
      const { contents } = compile(view({ services: [], tombstoned: true }));
      const bring = async (): Promise<void> => it.apply(diff(contents, await it.read()).changes);
      const checking = (): Promise<string> => daemons.appctl('dpctl/ct-get-tcp-seq-chk');
      await bring();
      expect(await checking()).toContain('disabled');
      await daemons.killSwitch();
      await daemons.startSwitch();
      expect(await checking()).toContain('enabled');
      await expect.poll(() => bring().then(() => checking()), { timeout: 20_000 }).toContain('disabled');
    } finally {
      await it.close();
      await daemons.close();
    }
  });

  conntrackContract('Open vSwitch', async () => {
    const daemons = await start();
    const it = openOn(daemons);
    await it.identity();
    return {
      it,
      close: async () => {
        await it.close();
        await daemons.close();
      },
    };
  });

  switchContract('Open vSwitch', async (): Promise<SwitchUnderTest> => {
    const daemons = await start();
    const opened: OvsSwitch[] = [];
    const reopen = async (): Promise<OvsSwitch> => {
      const one = openOn(daemons);
      opened.push(one);
      await one.identity();
      return one;
    };
    return {
      it: await reopen(),
      applyForeign: (changes) => applyForeign(daemons, changes),
      reopen,
      ownPorts: () => ownPorts(daemons),
      close: async () => {
        await Promise.all(opened.map((one) => one.close()));
        await daemons.close();
      },
    };
  });
});
