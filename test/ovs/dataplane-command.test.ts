// `muster dataplane diff` and `trace` as an operator runs them on a compute node: the real program on a real switch, with the
// folder of an agent beside it and no server.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AgentStateStore, type FileName } from '../../src/agent/runtime.ts';
import { FileDisk } from '../../src/link/runtime.ts';
import { compile, diff } from '../../src/dataplane/index.ts';
import { OvsSwitch } from '../../src/dataplane/runtime.ts';
import { C2, nat, subnetService, view } from '../../src/dataplane/compile/dataplane-view-fixture.ts';
import { portName } from '../../src/dataplane/switch/derived-ids.ts';
import type { DataplaneView } from '../../src/dataplane/view/dataplane-view.ts';
import { realClock } from '../../src/main/clock.ts';
import { newFolder, run, type Ended } from '../cli/muster.ts';
import { start, type OvsDaemons } from './ovs-daemons.ts';
import { ovsSuite } from './suite.ts';

const DESIGNATED = { role: 'designated', designated: { host: 'c1' } } as const;
const WANTED = view({
  services: [nat(DESIGNATED), subnetService('dhcp', { ...DESIGNATED, designated: C2, role: 'other' })],
});
const NEXT_HOP = '02:00:00:00:00:99';
const PORT = portName('port-1').slice(1, -1);
const FROM_PORT = `in_port=${PORT},icmp,dl_src=fa:16:3e:00:00:01`;
const done = { code: 0, err: '' };

/** As an agent keeps it. */
async function keepView(
  folder: string,
  { host, peers, networks, services, ports }: DataplaneView,
): Promise<AgentStateStore> {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const memory = new AgentStateStore(new FileDisk<FileName>(folder, 'agent'), log);
  const parts = { self: {}, peers, networks, services, instances: [{ ports }] };
  const stamp = { journalId: 'j', leaseEpoch: 1, revision: 1 };
  await memory.writeView({ token: 't', view: { host, stamp, digest: 'd', parts, tasks: [] } });
  return memory;
}

ovsSuite('muster dataplane on a compute node', () => {
  let daemons: OvsDaemons;
  let ovs: OvsSwitch;
  const state = newFolder();
  const dataplane = (...words: readonly string[]): Promise<Ended> =>
    run([
      'dataplane',
      ...words,
      '--state',
      state,
      '--ovs',
      daemons.db,
      '--ovs-control',
      daemons.ctl,
      '--external',
      'ext0',
    ]);
  const difference = async (): Promise<string> => (await dataplane('diff')).out;

  beforeAll(async () => {
    daemons = await start();
    const [database, openFlow, control] = [daemons.db, daemons.bridgeMgmt('br-int'), daemons.ctl];
    const where = { database, openFlow, control, bridge: 'br-int', external: 'ext0', datapath: 'netdev' } as const;
    ovs = new OvsSwitch({ ...where, clock: realClock, random: Math.random });
    await keepView(state, WANTED);
  });
  afterAll(async () => {
    await ovs?.close();
    await daemons?.close();
  });

  test('nothing-is-made-by-looking: a-bridge-that-is-not-there-is-reported', async () => {
    const { code, out, err } = await dataplane('diff');
    expect({ code, out }).toEqual({ code: 3, out: '' });
    expect(err).toMatch(/^The switch at unix:\S+ cannot be read: there is no bridge br-int\.\n$/);
    expect(await daemons.vsctl('list-br')).toBe('');
  });

  test('what-was-applied-is-equal-whatever-the-next-hop-is', async () => {
    await ovs.setUp();
    await daemons.vsctl('set', 'interface', 'ext0', 'type=dummy');
    const wanted = compile(WANTED, { nextHop: () => NEXT_HOP }).contents;
    await ovs.apply(diff(wanted, await ovs.read()).changes);
    const unplugged = await dataplane('diff');
    expect(unplugged.code).toBe(1);
    expect(unplugged.out).toContain(
      `Ports that are not plugged in; what names them is left out until they are\n  port ${PORT}\n`,
    );
    expect(unplugged.out).not.toContain('Missing');
    await daemons.addDummyPort('br-int', PORT, 11);
    await ovs.apply(diff(wanted, await ovs.read()).changes);
    expect(await dataplane('diff')).toMatchObject({
      ...done,
      out: `The switch of c1 is as it should be: ${wanted.flows.length} flows.\n`,
    });
  });

  test('a-packet-is-followed-through-the-flows-of-their-owners', async () => {
    const gateway = (await ovs.read()).flows.find(({ actions }) => actions === 'set_field:0x2000->reg0,resubmit(,15)');
    const mac = /dl_dst=([0-9a-f:]+)/.exec(gateway?.match ?? '')?.[1] ?? '';
    const flow = `${FROM_PORT},dl_dst=${mac},nw_src=10.0.0.11,nw_dst=8.8.8.8,nw_ttl=64`;
    const { code, out } = await dataplane('trace', flow);
    expect(code).toBe(0);
    expect(out.split('\n').filter((line) => line.startsWith('      # '))).toEqual([
      '      # classify: port port-1: Assigns what this port sends to its network, only from its own hardware address.',
      '      # ingress: router edge: Routes packets that are sent to the gateway.',
      '      # route: router edge: Sends packets for addresses outside the subnets of the router to its way out.',
      '      # outbound: service nat:edge: Translates outgoing packets.',
      '      # snat: service nat:edge: Sends out translated packets.',
    ]);
    expect(out).toContain(`set_field:${NEXT_HOP}->eth_dst`);
  });

  test('the-way-out-is-called-as-flows-call-it', async () => {
    const { code, out } = await dataplane('trace', 'in_port="muster-ext",tcp,nw_dst=198.51.100.7');
    expect(code).toBe(0);
    expect(out).toContain('# classify: service nat:edge: Translates replies from outside back.');
    expect(out).toContain('# unsnat: host c1: Drops packets that no other flow matches.');
  });

  test('what-is-no-flow-is-refused-with-the-words-of-the-switch', async () => {
    expect(await dataplane('trace', 'nonsense')).toMatchObject({
      code: 2,
      out: '',
      err: 'The switch refuses the packet: ofproto/trace: Bad openflow flow syntax: nonsense: unknown field nonsense.\n',
    });
  });

  test('missing-too-much-bent-and-in-the-way', async () => {
    const peer = 'table=0,in_port="muster-tun",tun_src=172.16.0.2';
    const bent = 'table=0,in_port="muster-tun",tun_src=172.16.0.3';
    await daemons.ofctl('--strict', 'del-flows', 'br-int', `${peer},priority=50`);
    await daemons.ofctl('add-flow', 'br-int', `cookie=7,${peer},priority=50,actions=drop`);
    await daemons.ofctl('--strict', 'mod-flows', 'br-int', `${bent},priority=50,actions=drop`);
    await daemons.ofctl('add-flow', 'br-int', 'cookie=0x4d55000000000001,table=0,priority=3,ip,actions=drop');
    await daemons.ofctl('del-flows', 'br-int', 'table=35');
    await daemons.vsctl('br-set-external-id', 'br-int', 'muster-tunnel:c9', '172.16.0.9');
    const { code, out } = await dataplane('diff');
    expect(code).toBe(1);
    const lines = [
      ...out.replaceAll(/cookie=0x\w+,/g, '').matchAll(/^(?:\S.*|  \w+ (?:table=\d+,priority=\d+|c\d).*)$/gm),
    ];
    expect(lines.map(([line]) => line.replace(/ actions=.*?(?:  #|$)/, ' #'))).toEqual([
      'Missing',
      '  flow table=35,priority=10,ip,reg0=0x2000,ct_state=-inv+trk # service nat:edge: Sends out translated packets.',
      '  flow table=35,priority=0 # host c1: Drops packets that no other flow matches.',
      'Other than it should be',
      '  flow table=0,priority=50,in_port="muster-tun",tun_src=172.16.0.3 # peer c3: Accepts tunnel packets from this peer.',
      'Too much',
      '  flow table=0,priority=3,ip #',
      '  tunnel c9 at 172.16.0.9',
      'In the way, and not owned by Muster: only its owner can remove it',
      '  flow table=0,priority=50,in_port="muster-tun",tun_src=172.16.0.2 # peer c2: Accepts tunnel packets from this peer.',
      expect.stringMatching(/^The switch of c1 is not as it should be: 6 differences, \d+ flows wanted\.$/),
    ]);
    const { equal, findings } = JSON.parse((await dataplane('diff', '--output', 'json')).out) as {
      equal: boolean;
      findings: object[];
    };
    expect({ equal, findings: findings.length }).toEqual({ equal: false, findings: 6 });
  });

  test('of-a-host-that-leaves-everything-is-too-much', async () => {
    const memory = await keepView(state, WANTED);
    await memory.writeIdentity({ leaving: 'task-1' });
    const found = await difference();
    expect(found).toMatch(/^Too much\n(?: {2}.*\n)+\nStrays: /);
    // What is still plugged in belongs to nothing any more.
    expect(found).toMatch(/\n {2}port interface\/mp\w+\n\n.*0 flows wanted\.\n$/);
    await memory.writeIdentity({});
  });

  test('without-a-view-or-a-switch-it-says-so', async () => {
    const empty = newFolder();
    const words = ['dataplane', 'diff', '--ovs', daemons.db, '--ovs-control', daemons.ctl];
    const noView = await run([...words, '--state', empty]);
    expect(noView).toMatchObject({ code: 3, out: '' });
    expect(noView.err).toContain(`There is no view in ${empty} yet.`);
    const nowhere = `unix:${join(empty, 'db.sock')}`;
    const noSwitch = await run(['dataplane', 'diff', '--state', state, '--ovs', nowhere, '--ovs-control', daemons.ctl]);
    expect(noSwitch).toMatchObject({ code: 3, out: '' });
    expect(noSwitch.err).toContain(`The switch at ${nowhere} cannot be read: `);
    const noDaemon = await run(['dataplane', 'diff', '--state', state, '--ovs', nowhere]);
    expect(noDaemon).toMatchObject({ code: 3, out: '' });
    expect(noDaemon.err).toContain('is ovs-vswitchd running? If it is, name its socket with --ovs-control.');
    const noPlace = await run([
      'dataplane',
      'diff',
      '--state',
      state,
      '--ovs',
      'db.sock',
      '--ovs-openflow',
      'x',
      '--ovs-control',
      'y',
    ]);
    expect(noPlace).toMatchObject({ code: 2, out: '' });
  });
});
