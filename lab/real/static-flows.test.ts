// The lab tries itself: what it measures on flows that were written by hand is what is there.
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ovsSuite } from '../../test/ovs/suite.ts';
import { startStaticFlows } from '../static-flows.ts';
import { readHost } from '../flows-oracle/read-host.ts';
import { unplug, type LabInstance } from '../lab-instance.ts';
import { assess } from '../oracle.ts';
import { withOverruns } from '../receive-overruns.ts';
import { Endpoint } from '../traffic/endpoint.ts';
import { runLoad } from '../traffic/load.ts';
import { reach } from '../traffic/ping.ts';
import { ECHO_PER_SECOND, usualFlows, type UsualLoad } from '../traffic/usual-load.ts';
import { runTrial } from '../trial.ts';
import { OUTSIDE } from '../underlay/names.ts';
import { Underlay } from '../underlay/underlay.ts';

const PORT = 7000;
/** Little, for machines that have other tests to run. */
const LOAD: UsualLoad = {
  address: OUTSIDE.address,
  port: PORT,
  echoPerSecond: 150,
  pushPerSecond: 50,
  sourcePort: 5000,
  tcp: true,
  beginning: true,
};
/** Without a route of its own, a switch forgot where its tunnels end about once in twenty. */
const LINKS = 60;
const TIMES = { durationMs: 1500, eventAfterMs: 500, tailMs: 500 };

ovsSuite('by-hand', () => {
  let underlay: Underlay;
  let machines: readonly LabInstance[];
  let server: Endpoint;
  let sources: readonly Endpoint[];

  beforeAll(async () => {
    underlay = await Underlay.start({ hosts: 3 });
    machines = await startStaticFlows(underlay);
    server = new Endpoint(underlay.names.external);
    await server.serve(PORT);
    sources = machines.map(({ namespace }) => new Endpoint(namespace));
  });

  afterAll(async () => {
    await underlay?.close();
  });

  const load = (event?: () => Promise<void>, usual = LOAD) => {
    const flows = usualFlows(sources.length, usual);
    const pings = [{ namespace: machines[1]!.namespace, address: OUTSIDE.address, everyMs: 50 }];
    const all = sources.map((endpoint, nth) => ({ endpoint, flows: flows[nth]! }));
    const run = (happens?: () => Promise<void>) => runLoad({ server, sources: all, pings, ...TIMES }, happens);
    return withOverruns(underlay.names, run)(event);
  };

  test('every-instance-reaches-every-other-and-the-outside', async () => {
    for (const { namespace } of machines) {
      const answers = await reach(namespace, ['10.0.0.11', '10.0.0.12', '10.0.0.13', OUTSIDE.address]);
      expect(Object.values(answers)).not.toContain(null);
    }
    expect(await reach(machines[0]!.namespace, ['10.0.0.99'], 500)).toEqual({ '10.0.0.99': null });
  });

  test('the-dump-has-every-flow-that-was-written', async () => {
    const contents = await Promise.all(underlay.hosts.map((host) => readHost(host)));
    expect(contents.map(({ flows }) => flows.length)).toEqual([20, 13, 13]);
    expect(contents[1]!.flows).toContainEqual({
      table: 30,
      priority: 10,
      cookie: '0000000000000000',
      match: 'ip',
      actions: 'set_field:1000->tun_id,set_field:172.16.0.1->tun_dst,output:vxlan0',
    });
  });

  test('when-nothing-happens-nothing-is-lost', async (context) => {
    const outcome = await runTrial({ load, event: async () => undefined });
    if (outcome.kind === 'machine-too-busy') context.skip('machine-too-busy');
    expect(outcome).toMatchObject({ kind: 'passed', verdict: { problems: [], tcp: { connections: 2, broken: 0 } } });
  });

  test('links-that-come-and-go-on-a-host-while-its-flows-change-lose-no-packet', async (context) => {
    const host = underlay.host(1);
    const link = (...words: readonly string[]): Promise<string> => host.exec('ip', 'link', ...words);
    const event = async (): Promise<void> => {
      for (let nth = 0; nth < LINKS; nth += 1) {
        const changing = host.ofctl('add-flow', 'br-int', `table=99,priority=${nth},actions=drop`);
        await link('add', 'comes', 'type', 'veth', 'peer', 'name', 'goes');
        await link('del', 'comes');
        await changing;
      }
    };
    // It takes some milliseconds each time: with few packets none would be lost.
    const many = { ...LOAD, echoPerSecond: ECHO_PER_SECOND };
    const outcome = await runTrial({ load: (happens) => load(happens, many), event });
    if (outcome.kind === 'machine-too-busy') context.skip('machine-too-busy');
    expect(outcome).toMatchObject({ kind: 'passed', verdict: { problems: [] } });
  });

  test('a-switch-that-forgets-its-flows-for-a-while-is-noticed-in-every-count', async () => {
    const host = underlay.host(1);
    const results = await load(async () => {
      await host.ofctl('add-flow', 'br-int', 'table=0,priority=99,hard_timeout=1,ip,in_port=ext0,actions=drop');
      // The switch looks for what has timed out once a second.
      await setTimeout(2500);
    });
    const { echo, push, ping, good } = assess(results);
    expect(good).toBe(false);
    for (const lost of [echo.returnLost, push.lost, ping.lost]) expect(lost).toBeGreaterThan(0);
  });

  test('a-translation-that-is-forgotten-is-noticed-by-its-port', async () => {
    const host = underlay.host(1);
    const results = await load(async () => {
      const ports = 'ct(commit,table=35,zone=1,nat(src=198.51.100.10:6000-6100))';
      await host.ofctl('add-flow', 'br-int', `table=30,priority=10,ip,actions=${ports}`);
      await host.appctl('dpctl/flush-conntrack');
    });
    expect(assess(results).unstable.length).toBeGreaterThan(0);
  });

  test('an-instance-can-be-taken-away', async () => {
    const removed = machines[2]!;
    await sources[2]!.close();
    await unplug(removed);
    expect(await reach(machines[0]!.namespace, ['10.0.0.13'], 500)).toEqual({ '10.0.0.13': null });
  });
});
