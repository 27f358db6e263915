// BFD between real switches: sessions come up beside the port that all tunnels share, a switch that dies is detected, and those that
// observe it send to its standby without a new view.
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Underlay } from '../../lab/underlay/underlay.ts';
import type { LabHost } from '../../lab/underlay/host.ts';
import { compile, diff } from '../../src/dataplane/index.ts';
import { nat, view } from '../../src/dataplane/compile/dataplane-view-fixture.ts';
import { OvsSwitch } from '../../src/dataplane/runtime.ts';
import type { ServiceView } from '../../src/dataplane/view/dataplane-view.ts';
import { realClock } from '../../src/main/clock.ts';
import { ovsSuite } from './suite.ts';

const HOSTS = ['c1', 'c2', 'c3'];
const ROLES: Readonly<Record<string, ServiceView['role']>> = { c1: 'other', c2: 'designated', c3: 'standby' };
const LOOK_MS = 20;
const LOOKS = 3000;

ovsSuite('heartbeats between switches', () => {
  let underlay: Underlay;
  const switches = new Map<string, OvsSwitch>();
  const labHost = (name: string): LabHost => underlay.host(HOSTS.indexOf(name) + 1);
  const switchOf = (name: string): OvsSwitch => switches.get(name) as OvsSwitch;
  const addressOf = (name: string): string => labHost(name).names.tunnelAddress;

  beforeAll(async () => {
    underlay = await Underlay.start({ hosts: HOSTS.length });
    for (const name of HOSTS) {
      const { folder, database, control } = labHost(name).names;
      const openFlow = `unix:${folder}/br-int.mgmt`;
      const ovs = { database, openFlow, control: `unix:${control}`, bridge: 'br-int', datapath: 'netdev' } as const;
      switches.set(name, new OvsSwitch({ ...ovs, clock: realClock, random: Math.random }));
    }
  });

  afterAll(async () => {
    await Promise.all([...switches.values()].map((one) => one.close()));
    await underlay.close();
  });

  async function until(what: string, look: () => Promise<boolean>): Promise<void> {
    for (let looks = 0; looks < LOOKS; looks += 1) {
      if (await look()) return;
      await setTimeout(LOOK_MS);
    }
    throw new Error(`never: ${what}`);
  }

  /** As an agent does it with its view. */
  async function follow(name: string): Promise<void> {
    const others = HOSTS.filter((other) => other !== name);
    const service = nat({ role: ROLES[name]!, designated: { host: 'c2' }, standby: 'c3' });
    const shown = view({
      host: name,
      peers: others.map((host) => ({ host, tunnelAddress: addressOf(host) })),
      services: [service],
      ports: [],
      bfd: { intervalMs: 100, peers: others },
    });
    const it = switchOf(name);
    const { contents } = compile(shown, {
      nextHop: () => '02:00:00:00:00:99',
      hasBfdBeenUp: (peer) => it.hasBfdBeenUp(peer),
    });
    await it.setUp();
    await it.apply(diff(contents, await it.read()).changes);
    expect(diff(contents, await it.read()).changes).toEqual([]);
  }

  async function groupOf(name: string): Promise<{ readonly id: number; readonly type: string } | undefined> {
    return (await switchOf(name).read()).groups.find(({ type }) => type !== 'all');
  }

  /** Where the switch itself says that it would send what leaves by the router. */
  async function sendsTo(name: string): Promise<string | undefined> {
    const group = await groupOf(name);
    await labHost(name).ofctl('add-flow', 'br-int', `priority=40000,in_port=LOCAL,actions=group:${group?.id}`);
    const trace = await labHost(name).appctl('ofproto/trace', 'br-int', 'in_port=LOCAL,ip');
    await labHost(name).ofctl('del-flows', 'br-int', '--strict', 'priority=40000,in_port=LOCAL');
    const address = /set_field:([0-9.]+)->tun_dst/.exec(trace)?.[1];
    return HOSTS.find((host) => addressOf(host) === address);
  }

  const listBfdDown = async (name: string): Promise<string> =>
    (await switchOf(name).bfdDownPeers())?.join() ?? 'nobody';

  test('they-come-up-beside-the-port-for-all-tunnels, and-only-then-are-they-watched', async () => {
    expect(await listBfdDown('c1')).toBe('nobody');
    for (const name of HOSTS) await follow(name);
    expect((await groupOf('c1'))?.type).toBe('indirect');
    for (const name of HOSTS) {
      const others = HOSTS.filter((other) => other !== name);
      await until(`${name} has BFD up to all`, async () => others.every((other) => switchOf(name).hasBfdBeenUp(other)));
      expect(await listBfdDown(name)).toBe('');
      await follow(name);
    }
    expect((await groupOf('c1'))?.type).toBe('fast-failover');
    expect((await groupOf('c3'))?.type).toBe('fast-failover');
    expect(await sendsTo('c1')).toBe('c2');
    // What is sent by the port for all tunnels arrives by it.
    await labHost('c3').ofctl('add-flow', 'br-int', 'priority=40000,in_port="muster-tun",tun_id=0x77,actions=drop');
    const sent = `set_field:0x77->tun_id,set_field:${addressOf('c3')}->tun_dst,output:"muster-tun"`;
    await switchOf('c1').sendPackets([{ actions: sent, data: new Uint8Array(60).fill(2) }]);
    await until('it arrives', async () =>
      (await labHost('c3').ofctl('dump-flows', 'br-int', 'tun_id=0x77')).includes('n_packets=1'),
    );
  });

  test('BFD-to-a-switch-that-dies-goes-down, its-peers-send-to-the-standby, and-back-when-BFD-is-up-again', async () => {
    let news = 0;
    const stop = switchOf('c1').onBfdChange(() => (news += 1));
    await labHost('c2').kill('ovs-vswitchd');
    await until('c1 misses it', async () => (await listBfdDown('c1')) === 'c2');
    const missed = news;
    expect(missed).toBeGreaterThan(0);
    expect(await sendsTo('c1')).toBe('c3');
    await until('c3 misses it', async () => (await listBfdDown('c3')) === 'c2');
    const { id } = (await groupOf('c3')) ?? {};
    await labHost('c3').ofctl('add-flow', 'br-int', `priority=40000,in_port=LOCAL,actions=group:${id}`);
    const trace = await labHost('c3').appctl('ofproto/trace', 'br-int', 'in_port=LOCAL,ip');
    expect(trace).toContain('set_field:0x1->reg4');
    expect(trace).not.toContain('->tun_dst');
    await labHost('c2').start('ovs-vswitchd');
    await until('it is connected again', async () => (await listBfdDown('c1')) === '');
    expect(await sendsTo('c1')).toBe('c2');
    expect(news).toBeGreaterThan(missed);
    stop();
  });
});
