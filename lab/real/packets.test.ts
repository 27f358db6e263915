// Real packets through a fleet of three hosts: a real server, real agents, real switches. Each test leaves the fleet as it found it, or
// says what the next one finds.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest';
import { ovsSuite } from '../../test/ovs/suite.ts';
import { run } from '../command.ts';
import { LabFleet, USUAL } from '../scenarios/fleet.ts';
import { reach } from '../traffic/ping.ts';
import { runTrial, type PacketTrial } from '../trial.ts';
import { OUTSIDE } from '../underlay/names.ts';

const NAT = 'nat:edge';
const GATEWAYS = ['10.0.0.1', '2001:db8:1::1'];
const EVERYWHERE = [...GATEWAYS, OUTSIDE.address, OUTSIDE.address6];

/** Everything that a DHCP client of another project makes of its answer; it has the address after it. */
async function leaseIn(namespace: string): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'mu-dhcp-'));
  try {
    const [script, output] = [join(folder, 'told.sh'), join(folder, 'told')];
    const words = ['#!/bin/sh', '[ "$1" = bound ] || exit 0', 'ip addr add "$ip/$mask" dev "$interface"'];
    const say = ['ip', 'subnet'].map((name) => `echo "${name} $${name}" >> ${output}`);
    await writeFile(script, [...words, ...say, ''].join('\n'), { mode: 0o755 });
    const there = ['ip', 'netns', 'exec', namespace];
    await run([...there, 'ip', '-4', 'addr', 'flush', 'dev', 'eth0']);
    await run([...there, 'udhcpc', '-i', 'eth0', '-n', '-q', '-f', '-t', '5', '-T', '1', '-s', script]);
    const lines = (await readFile(output, 'utf8')).trim().split('\n');
    return Object.fromEntries(lines.map((line) => line.split(' ') as [string, string]));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

ovsSuite('packets', () => {
  let fleet: LabFleet;

  beforeAll(async () => {
    fleet = await LabFleet.start(3);
  });

  afterAll(async () => {
    await fleet?.close();
  });

  /** Nothing is lost; a machine that loses packets by itself is reported, and counted apart. */
  async function losesNothing(context: TestContext, trial: PacketTrial): Promise<void> {
    const outcome = await runTrial(trial);
    if (outcome.kind === 'machine-too-busy') context.skip('machine-too-busy');
    expect(outcome.kind === 'failed' ? outcome.problems : []).toEqual([]);
  }

  async function unreached(from: string, addresses: readonly string[]): Promise<string[]> {
    const answers = await reach(from, [...addresses]);
    return Object.entries(answers).flatMap(([address, ms]) => (ms === null ? [address] : []));
  }

  /** Whether the switch of a host knows a connection from one of these addresses. */
  async function translated(host: number, addresses: readonly string[]): Promise<boolean> {
    const tracked = await fleet.underlay.host(host).appctl('dpctl/dump-conntrack');
    return addresses.some((ip) => tracked.includes(`src=${ip},`));
  }

  test('dataplane-1: every-instance-reaches-every-other, its-gateways-and-the-outside, by IPv4 and IPv6', async () => {
    const all = fleet.instances.flatMap(({ addresses }) => addresses);
    expect(all).toHaveLength(6);
    for (const { namespace } of fleet.instances)
      expect(await unreached(namespace, [...all, ...EVERYWHERE])).toEqual([]);
  });

  test('the-outside-reaches-every-instance-by-IPv6-and-none-by-an-address-that-is-nobodys', async () => {
    const [six] = [fleet.instances.flatMap(({ addresses }) => addresses.filter((ip) => ip.includes(':')))];
    expect(await unreached(fleet.underlay.names.external, six)).toEqual([]);
    expect(await reach(fleet.instances[0]!.namespace, ['10.0.0.200'], 500)).toEqual({ '10.0.0.200': null });
  });

  test('dataplane-1: ovs-ofctl-finds-on-every-host-what-was-compiled, and-nothing-else', async () => {
    expect(await fleet.waitForConvergence()).toEqual([]);
  });

  test('dataplane-14: a-floating-address-leads-to-its-instance, and-without-it-the-instance-leaves-as-before', async () => {
    const { client } = fleet.muster;
    const [, second] = fleet.instances;
    const inside = second!.addresses.find((ip) => !ip.includes(':'));
    const ports = (await client.get('/ports?limit=100')) as {
      readonly items: readonly { readonly id: string; readonly addresses: readonly { readonly ip: string }[] }[];
    };
    const port = ports.items.find(({ addresses }) => addresses.some(({ ip }) => ip === inside))?.id;
    const made = (await client.post('/floating-addresses', { network: 'ext', port })) as {
      readonly id: string;
      readonly outside: { readonly ip: string };
    };
    expect(await unreached(fleet.underlay.names.external, [made.outside.ip])).toEqual([]);
    expect(await unreached(second!.namespace, EVERYWHERE)).toEqual([]);
    const naming = async (): Promise<string[]> => {
      const found: string[] = [];
      for (const host of fleet.underlay.hosts) {
        if ((await host.ofctl('dump-flows', 'br-int')).includes(made.outside.ip)) found.push(host.names.name);
      }
      return found;
    };
    expect(await naming()).toEqual([`h${second!.host}`]);
    await client.post(`/floating-addresses/${made.id}/disassociate`, null);
    await fleet.until('flows of the floating address are left', async () =>
      (await naming()).length === 0 ? true : undefined,
    );
    expect(await unreached(second!.namespace, EVERYWHERE)).toEqual([]);
  });

  test('a-dhcp-client-gets-its-address, also-from-another-host', async () => {
    const { client } = fleet.muster;
    await client.post('/networks', { name: 'desk' });
    await client.post('/subnets', { name: 'desk-v4', network: 'desk', cidr: '10.9.0.0/24', dhcp: true });
    const clients = [await fleet.build('asks1', 1, 'desk'), await fleet.build('asks2', 2, 'desk')];
    const at = await fleet.designated('dhcp:desk-v4');
    expect([1, 2]).toContain(at);
    for (const { namespace, addresses } of clients) {
      expect(await leaseIn(namespace)).toEqual({ ip: addresses[0], subnet: '255.255.255.0' });
      // It has only what it requested now.
      expect(
        await unreached(
          namespace,
          clients.flatMap((one) => one.addresses),
        ),
      ).toEqual([]);
    }
    await fleet.destroy('asks1', 'asks2');
    expect(await fleet.waitForConvergence()).toEqual([]);
  });

  test('dataplane-2, dataplane-4, dataplane-5: a-designation-that-moves-by-plan-loses-nothing', async (context) => {
    const from = await fleet.designated(NAT);
    const to = (from % 3) + 1;
    await losesNothing(context, { load: await fleet.load(), event: () => fleet.move(NAT, to) });
    expect(await fleet.designated(NAT)).toBe(to);
    expect(await fleet.waitForConvergence()).toEqual([]);
  });

  test('dataplane-3: the-same-when-all-instances-send-from-one-port-and-one-host-follows-late', async (context) => {
    const to = ((await fleet.designated(NAT)) % 3) + 1;
    const load = await fleet.load({ ...USUAL, sourcePort: 5000 });
    await losesNothing(context, { load, event: () => fleet.moveWithOneLate(NAT, to) });
    expect(await fleet.waitForConvergence()).toEqual([]);
  });

  test('an-agent-that-is-killed-and-started-again-changes-nothing-that-is-right', async (context) => {
    const host = fleet.underlay.host(await fleet.designated(NAT));
    const seconds = async (): Promise<number[]> =>
      [...(await host.ofctl('dump-flows', 'br-int')).matchAll(/duration=([\d.]+)s/g)].map(([, age]) => Number(age));
    const part = { host: host.names.number, part: 'agent' } as const;
    const event = async (): Promise<void> => {
      await fleet.muster.kill(part);
      await setTimeout(500);
      await fleet.muster.start(part);
      await fleet.muster.untilUp(host.names.number);
    };
    const before = Math.min(...(await seconds()));
    await losesNothing(context, { load: await fleet.load(), event });
    // Whatever was written anew would be younger than all of it was before.
    expect(Math.min(...(await seconds()))).toBeGreaterThan(before);
  });

  test('without-a-server-nothing-changes', async (context) => {
    const event = async (): Promise<void> => {
      await fleet.muster.kill('server');
      await setTimeout(5000);
      await fleet.muster.start('server');
      for (const { names } of fleet.underlay.hosts) await fleet.muster.untilUp(names.number);
    };
    await losesNothing(context, { load: await fleet.load(), event });
    expect(await fleet.waitForConvergence()).toEqual([]);
  });

  test('dataplane-11: a-switch-that-only-sends-is-killed-and-started-again, and-no-host-is-elected', async () => {
    const { designated, standby, epoch } = await fleet.service(NAT);
    const sends = fleet.underlay.hosts.find(({ names }) => ![designated?.host, standby].includes(names.name));
    const part = { host: sends!.names.number, part: 'ovs-vswitchd' } as const;
    await fleet.muster.kill(part);
    await fleet.muster.start(part);
    expect(await fleet.waitForConvergence()).toEqual([]);
    await fleet.untilBfdUp();
    for (const { namespace } of fleet.instances) expect(await unreached(namespace, EVERYWHERE)).toEqual([]);
    expect(await fleet.service(NAT)).toMatchObject({ designated, epoch });
  });

  test('dataplane-11: a-switch-that-is-killed-and-started-again-gets-everything-back, and-no-host-is-elected', async () => {
    const at = await fleet.designated(NAT);
    const part = { host: at, part: 'ovs-vswitchd' } as const;
    // As an operator does it who restarts switches: for longer than three heartbeats its host is lost to the others.
    await fleet.holdElections(true);
    await fleet.muster.kill(part);
    await fleet.muster.start(part);
    expect(await fleet.waitForConvergence()).toEqual([]);
    await fleet.untilBfdUp();
    for (const { namespace } of fleet.instances) expect(await unreached(namespace, EVERYWHERE)).toEqual([]);
    await fleet.holdElections(false);
    expect(await fleet.designated(NAT)).toBe(at);
  });

  test('dataplane-10: flows-that-another-program-removed-changed-or-added-are-put-right', async () => {
    const host = fleet.underlay.host(1);
    await host.ofctl('del-flows', 'br-int', 'table=20');
    await host.ofctl('mod-flows', 'br-int', 'table=5,actions=drop');
    await host.ofctl('add-flow', 'br-int', 'cookie=0x4d55000000000001,table=20,priority=77,actions=drop');
    expect((await fleet.differences(host)).unexpected).not.toEqual([]);
    // Agents look at their switches every half a minute.
    await fleet.until('it is not put right', async () => {
      const { missing, unexpected } = await fleet.differences(host);
      return missing.length + unexpected.length === 0 ? true : undefined;
    });
    expect(await fleet.waitForConvergence()).toEqual([]);
  });

  test('a-host-to-which-BFD-is-down-at-one-peer-alone-is-not-replaced, and-that-one-sends-to-the-standby', async () => {
    await fleet.untilBfdUp();
    const { designated, standby = '', epoch } = await fleet.service(NAT);
    const cutOff = fleet.instances.find(({ host }) => ![designated?.host, standby].includes(`h${host}`));
    const [watcher, lost] = [fleet.underlay.host(cutOff!.host), fleet.underlay.host(await fleet.designated(NAT))];
    const heal = await fleet.cut(watcher, lost);
    await fleet.until('the cut is not noticed', async () =>
      (await fleet.listBfdDownPorts(watcher)).length === 1 ? true : undefined,
    );
    expect(await unreached(cutOff!.namespace, [OUTSIDE.address])).toEqual([]);
    expect(await translated(Number(standby.slice(1)), cutOff!.addresses)).toBe(true);
    // It has reported so long before, and the server has the report.
    await setTimeout(2000);
    expect(await fleet.service(NAT)).toMatchObject({ designated: { host: designated?.host }, standby, epoch });
    await heal();
    await fleet.untilBfdUp();
  });

  test('dataplane-9: a-designated-host-that-dies-is-replaced-by-its-standby, and-gets-nothing-back', async () => {
    const { standby = '', epoch } = await fleet.service(NAT);
    const lost = await fleet.designated(NAT);
    const heir = Number(standby.slice(1));
    const parts = (['ovs-vswitchd', 'agent'] as const).map((part) => ({ host: lost, part }));
    const staying = fleet.instances.filter(({ host }) => host !== lost);
    const event = async (): Promise<void> => {
      await Promise.all(parts.map((part) => fleet.muster.kill(part)));
      await fleet.until('no other host is designated', async () =>
        (await fleet.designated(NAT)) === lost ? undefined : true,
      );
    };
    const { echo } = await (await fleet.load(USUAL, staying))(event);
    // What was sent before the kill alone would be a quarter of it.
    expect(echo.filter(({ sent, seen }) => seen < sent / 2)).toEqual([]);
    expect(await fleet.designated(NAT)).toBe(heir);
    expect((await fleet.service(NAT)).epoch).toBe(epoch + 1);
    const hosts = fleet.underlay.hosts.filter(({ names }) => names.number !== lost);
    expect(await fleet.waitForConvergence(hosts)).toEqual([]);
    for (const { namespace, addresses } of staying) {
      expect(await unreached(namespace, EVERYWHERE)).toEqual([]);
      expect(await translated(heir, addresses)).toBe(true);
    }
    for (const part of parts) await fleet.muster.start(part);
    await fleet.muster.untilUp(lost);
    expect(await fleet.waitForConvergence()).toEqual([]);
    await fleet.untilBfdUp();
    expect(await fleet.service(NAT)).toMatchObject({ designated: { host: standby }, epoch: epoch + 1 });
    for (const { namespace } of fleet.instances) expect(await unreached(namespace, EVERYWHERE)).toEqual([]);
  });

  test('a-host-that-joins-is-reached-by-all-and-reaches-all', async () => {
    const added = await fleet.underlay.addHosts(1);
    await fleet.muster.join(added);
    const four = await fleet.build('vm4', 4);
    const others = fleet.instances.flatMap(({ addresses }) => addresses);
    expect(await unreached(four.namespace, [...others, ...EVERYWHERE])).toEqual([]);
    for (const { namespace } of fleet.instances) expect(await unreached(namespace, four.addresses)).toEqual([]);
    expect(await fleet.waitForConvergence()).toEqual([]);
  });

  test('dataplane-6: a-host-that-just-joined-takes-over, and-nothing-is-lost', async (context) => {
    await losesNothing(context, {
      load: await fleet.load(USUAL, fleet.instances.slice(0, 3)),
      event: () => fleet.move(NAT, 4),
    });
    expect(await fleet.designated(NAT)).toBe(4);
  });

  test('a-host-that-cannot-be-emptied-is-recovered-with-all-that-it-had', async () => {
    const muster = fleet.muster.muster.bind(fleet.muster);
    await muster('scale-in', 'start', 'h4', '--no-drain');
    await muster('scale-in', 'recover', 'h4', '--wait', '--timeout', '60s');
    expect(await fleet.waitForConvergence()).toEqual([]);
    expect(await unreached(fleet.instances[3]!.namespace, EVERYWHERE)).toEqual([]);
  });

  test('dataplane-12: the-designated-host-leaves-by-plan: the others lose nothing, and nothing names it any more', async (context) => {
    const leaving = await fleet.designated(NAT);
    const staying = fleet.instances.filter(({ host }) => host !== leaving);
    const event = async (): Promise<void> => {
      await fleet.muster.muster('scale-in', 'start', `h${leaving}`, '--wait', '--timeout', '90s');
      await fleet.muster.muster('scale-in', 'end', `h${leaving}`, '--disconnect', '--wait', '--timeout', '90s');
    };
    await losesNothing(context, { load: await fleet.load(USUAL, staying.slice(0, 3)), event });
    const { tunnelAddress } = fleet.underlay.host(leaving).names;
    const hosts = fleet.underlay.hosts.filter(({ names }) => names.number !== leaving);
    for (const host of hosts) {
      const dumped = `${await host.ofctl('dump-flows', 'br-int')}${await host.ofctl('dump-groups', 'br-int')}`;
      expect(dumped).not.toMatch(new RegExp(`\\b${tunnelAddress.replaceAll('.', '\\.')}\\b`));
    }
    expect(await fleet.waitForConvergence(hosts)).toEqual([]);
  });
});
