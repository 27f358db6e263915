// Leaving, removal and return by the three remote procedures: the effect of each on a host in each state, what is refused, and that repetition and the
// answering server do not matter.
import { describe, expect, test } from 'vitest';
import { TOKEN } from '../../../src/access/index.ts';
import { ALARM } from '../../../src/alarms/index.ts';
import { HOST, identityForms, type Host, type HostResult } from '../../../src/hosts/index.ts';
import { OPERATION } from '../../../src/operations/index.ts';
import { HttpApi } from './http-fixture.ts';
import { expectSound, isWiped, isMarked, servers, traces, tunnels } from './switches-fixture.ts';
import { HOSTS, scaleInWorld, shapeOf, type ScaleInAcceptanceWorld } from './world-fixture.ts';

function results(hosts: readonly HostResult[]): string[] {
  return hosts.map(({ host, result, reason }) => `${host} ${result}${reason === undefined ? '' : ` ${reason.code}`}`);
}

function resultsIn(facts: Readonly<Record<string, unknown>> | undefined): string[] {
  return results((facts?.['hosts'] ?? []) as readonly HostResult[]);
}

/** The topology and inventory entries of a host, by each of its ids. */
async function traceIn(http: HttpApi, ids: readonly string[]): Promise<number[]> {
  const topology = '/restconf/data/network-topology:network-topology/topology=ovsdb%3A1/node=';
  const inventory = '/restconf/data/opendaylight-inventory:nodes/node=';
  const urls = ids.flatMap((id) => [topology, inventory].map((path) => `${path}${encodeURIComponent(id)}`));
  return Promise.all(urls.map(async (url) => (await http.get(url)).status));
}

const idsOf = (world: ScaleInAcceptanceWorld, host: string): string[] => [
  host,
  ...identityForms(world.host(host).switch),
];

describe('a host is identified by its switch', () => {
  test('scale-in-1: pending-until-its-bridge-has-a-datapath-id', async () => {
    const world = await scaleInWorld();
    const http = await HttpApi.start(world);
    const { datapathId = '', systemId, bridge } = world.switchOf('a').currentIdentity;
    expect(world.host('a').switch).toEqual({ datapathId, systemId, bridge });
    expect(await traceIn(http, idsOf(world, 'a'))).toEqual(Array.from({ length: 10 }, () => 200));
    expect(await http.get(`/restconf/data/opendaylight-inventory:nodes/node=${datapathId}`)).toMatchObject({
      body: { 'opendaylight-inventory:node': [{ id: `openflow:${BigInt(`0x${datapathId}`)}` }] },
    });
    // A switch without its bridge yet: known by name, in no inventory, and not chosen.
    world.switchOf('h').currentIdentity = { systemId: 'system-h' };
    await world.hosts({ h: shapeOf('h') });
    expect(await traceIn(http, ['h'])).toEqual([200, 404]);
    await world.place('one', 'h');
    await world.settle();
    expect(world.designatedHostOf('nat:edge')).toBeUndefined();
    world.switchOf('h').currentIdentity = { systemId: 'system-h', datapathId: 'ffffffffffffffff', bridge: 'b' };
    await world.until('it is elected', () => world.designatedHostOf('nat:edge') === 'h');
    expect(await traceIn(http, ['openflow:18446744073709551615'])).toEqual([200, 200]);
    // Changed ids change the record.
    world.switchOf('h').currentIdentity = { systemId: 'system-h', datapathId: '00000000000000aa', bridge: 'b' };
    await world.until('it is noticed', () => world.host('h').switch?.datapathId === '00000000000000aa');
    expect(await traceIn(http, ['openflow:18446744073709551615'])).toEqual([404, 404]);
    expectSound(world);
  });
});

describe('start and recover', () => {
  test('scale-in-2: marks-those-that-are-named-and-no-others', async () => {
    const world = await scaleInWorld();
    const http = await HttpApi.start(world);
    expect((await http.rpc('start', ['a', 'b', 'a'])).status).toBe(200);
    await world.untilState('drained', 'a', 'b');
    await world.settle();
    expect(['a', 'b', 'c'].map((host) => isMarked(world, host))).toEqual([true, true, false]);
    const node = (await http.get('/restconf/data/network-topology:network-topology/topology=ovsdb%3A1/node=a')).body;
    const marks = [{ 'bridge-external-id-key': 'tombstoned', 'bridge-external-id-value': 'true' }];
    expect(JSON.stringify(node)).toContain(JSON.stringify(marks).slice(1, -1));
    expect((await http.rpc('recover', ['a'])).status).toBe(200);
    await world.untilState('active', 'a');
    await world.settle();
    expect(['a', 'b', 'c'].map((host) => isMarked(world, host))).toEqual([false, true, false]);
    expect(world.host('a').leaving).toBeUndefined();
    expectSound(world);
  });

  test('scale-in-3: ends-those-that-are-empty-and-brings-back-the-third', async () => {
    const world = await scaleInWorld();
    await world.place('one', 'b');
    for (const host of HOSTS.filter((name) => name !== 'b')) await world.edit(host, { traits: ['other'] });
    await world.start(['a', 'b', 'c'], { drain: false });
    await world.untilState('drained', 'a', 'c');
    await world.disconnect('a', 'c');
    const ended = await world.end(['a', 'c']);
    const recovered = await world.recover(['b']);
    expect(results([...ended.hosts, ...recovered.hosts])).toEqual(['a accepted', 'c accepted', 'b accepted']);
    await world.untilState('removed', 'a', 'c');
    await world.untilState('active', 'b');
    await world.settle();
    for (const host of ['b', 'd', 'e', 'f', 'g'])
      for (const removed of ['a', 'c']) expect(traces(world, host, removed)).toEqual([]);
    expect(world.designatedHostOf('nat:edge')).toBe('b');
    expect(servers(world, 'nat:edge')).toEqual(['b']);
    expectSound(world);
  });
});

describe('what is refused', () => {
  test('scale-in-4: one-unknown-name-refuses-the-whole-start', async () => {
    const world = await scaleInWorld();
    const refusal = await world.startRefused(['a', 'nobody', 'b', 'openflow:1']);
    expect(refusal).toMatchObject({ kind: 'not-found', code: 'unknown-host' });
    expect(refusal.message).toContain('nobody');
    expect(refusal.message).toContain('openflow:1');
    expect(world.states('a', 'b')).toEqual(['active', 'active']);
    const http = await HttpApi.start(world);
    expect((await http.rpc('start', ['a', 'nobody'])).status).toBe(404);
    await world.settle();
    expect(HOSTS.filter((host) => isMarked(world, host))).toEqual([]);
  });

  test('scale-in-5: active-populated-and-connected-hosts-are-not-ended, each for its own reason', async () => {
    const world = await scaleInWorld();
    await world.place('one', 'b');
    await world.start(['b'], { drain: false });
    await world.start(['c']);
    await world.untilState('drained', 'c');
    await world.settle();
    const refusal = await world.endRefused(['a', 'b', 'c']);
    expect(resultsIn(refusal.facts)).toEqual([
      'a wrong-state in-service',
      'b blocked lives-here',
      'c blocked still-connected',
    ]);
    const [, populated] = (refusal.facts?.['hosts'] ?? []) as readonly HostResult[];
    expect(populated?.blockers?.map(({ code, kind }) => `${code} ${String(kind)}`)).toContain('lives-here instance');
    expect(world.states('a', 'b', 'c')).toEqual(['active', 'draining', 'drained']);
    expect(world.copies('one')).toEqual(['b']);
  });

  test('scale-in-6: the-ready-one-is-removed, whatever the results of the others', async () => {
    const world = await scaleInWorld();
    await world.place('one', 'c');
    await world.start(['a', 'c'], { drain: false });
    await world.untilState('drained', 'a');
    await world.disconnect('a');
    const { hosts } = await world.end(['nobody', 'a', 'c']);
    expect(results(hosts)).toEqual(['a accepted', 'c blocked lives-here', 'nobody unknown unknown-host']);
    await world.untilState('removed', 'a');
    expect(world.states('c')).toEqual(['draining']);
    expect(world.copies('one')).toEqual(['c']);
  });

  test('scale-in-7: a-request-without-names-is-the-callers-mistake', async () => {
    const world = await scaleInWorld();
    const http = await HttpApi.start(world);
    const before = world.fleet.revision;
    for (const verb of ['start', 'end', 'recover'] as const) {
      for (const nodes of [[], undefined]) {
        const { status, body } = await http.rpc(verb, nodes);
        expect(status).toBe(400);
        expect(body).toMatchObject({ 'ietf-restconf:errors': { error: [{ 'error-type': 'protocol' }] } });
      }
      for (const body of [{}, { hosts: [] }])
        expect((await http.post(`/api/v1/scale-in/${verb}`, body)).status).toBe(400);
    }
    expect(world.fleet.revision).toBe(before);
  });
});

describe('repeated requests', () => {
  test('scale-in-8: the-same-request-changes-nothing, and starts nothing', async () => {
    const world = await scaleInWorld();
    await world.place('one', 'a');
    const first = await world.start(['a'], { drain: false });
    await world.settle();
    const again = async (verb: () => ReturnType<ScaleInAcceptanceWorld['start']>): Promise<void> => {
      const countReports = (): number[] => [
        world.documentVersions.filter(({ kind }) => kind === HOST.name).length,
        world.all(OPERATION).length,
      ];
      const before = countReports();
      const { hosts } = await verb();
      expect(hosts.map((one) => one.result)).toEqual(['unchanged']);
      expect(countReports()).toEqual(before);
    };
    await again(() => world.start(['a'], { drain: false }));
    expect((await world.start(['a'], { drain: false })).operation).toBe(first.operation);
    await world.recover(['a']);
    const started = world.operations('scale-in-recover').length;
    await again(() => world.recover(['a']));
    await world.untilState('active', 'a');
    await world.settle();
    await again(() => world.recover(['a']));
    expect(world.operations('scale-in-recover')).toHaveLength(started);
    await world.start(['b']);
    await world.untilState('drained', 'b');
    const ended = await world.end(['b'], { disconnect: true });
    const { operation } = await world.end(['b'], { disconnect: true });
    expect(operation).toBe(ended.operation);
    await world.untilState('removed', 'b');
    await world.settle();
    await again(() => world.end(['b']));
    expect(world.operations('scale-in-end')).toHaveLength(1);
    expectSound(world);
  });

  test('scale-in-9: a-restart-at-any-moment-forgets-nothing', async () => {
    const world = await scaleInWorld();
    await world.place('one', 'a');
    const { operation = '' } = await world.start(['a', 'b']);
    await world.restart();
    expect(world.states('a', 'b').every((state) => state === 'draining' || state === 'drained')).toBe(true);
    expect(world.host('a').leaving?.operation).toBe(operation);
    await world.restartWhen((applied) => applied.some(({ kind }) => kind === HOST.name));
    await world.untilState('drained', 'a', 'b');
    expect(world.host('a').leaving?.operation).toBe(operation);
    expect(world.operationDoc(operation)).toMatchObject({ state: 'succeeded' });
    await world.restart();
    const ended = await world.end(['a', 'b'], { disconnect: true });
    await world.restartWhen((applied) =>
      applied.some(
        ({ kind, after }) => kind === HOST.name && after !== undefined && (after.doc as Host).state === 'finalizing',
      ),
    );
    await world.untilState('removed', 'a', 'b');
    expect(world.operationDoc(ended.operation ?? '')).toMatchObject({ state: 'succeeded' });
    await world.settle();
    expect(world.copies('one')).toHaveLength(1);
    expectSound(world);
  });
});

describe('a switch that reports again', () => {
  test('scale-in-10: a-tombstoned-host-that-reconnects-is-still-tombstoned', async () => {
    const world = await scaleInWorld();
    await world.start(['a']);
    await world.untilState('drained', 'a');
    await world.disconnect('a');
    await world.reconnect('a');
    await world.settle();
    expect(world.states('a')).toEqual(['drained']);
    expect(isMarked(world, 'a')).toBe(true);
    // Also when its switch lost everything: the journal is authoritative.
    world.switchOf('a').reset();
    await world.agents.restart('a');
    await world.until('it is marked again', () => isMarked(world, 'a'));
    await world.place('one', 'b');
    await world.settle();
    expect(world.designatedHostOf('nat:edge')).toBe('b');
    expectSound(world);
  });

  test('scale-in-11: a-removed-host-that-reports-is-kept-out, until it joins again', async () => {
    const world = await scaleInWorld();
    await world.start(['a']);
    await world.untilState('drained', 'a');
    await world.disconnect('a');
    await world.end(['a']);
    await world.untilState('removed', 'a');
    // It was not notified of its removal: its switch still has everything.
    expect(isWiped(world, 'a')).toBe(false);
    world.agents.start('a');
    await world.until('it is reported', () =>
      world.all(ALARM).some(({ doc }) => doc.reason.code === 'removed-host-reports'),
    );
    expect(world.states('a')).toEqual(['removed']);
    for (const host of HOSTS.slice(1)) expect(tunnels(world, host)).not.toContain('a');
    // The same switch under another name is no other host.
    world.switchOf('h').currentIdentity = world.switchOf('a').currentIdentity;
    await world.hosts({ h: shapeOf('h') });
    await world.until('it is distrusted', () => world.host('h').quarantined !== undefined);
    await world.settle();
    expect(isWiped(world, 'h')).toBe(true);
    for (const host of HOSTS.slice(1)) expect(tunnels(world, host)).not.toContain('h');
    await world.reAdmit('h');
    await world.settle();
    for (const host of HOSTS.slice(1)) expect(tunnels(world, host)).toContain('h');
    expectSound(world);
  });

  test('scale-in-11: joined-again-it-is-a-fresh-host, with nothing of its old life', async () => {
    const world = await scaleInWorld();
    await world.start(['a']);
    await world.untilState('drained', 'a');
    await world.end(['a'], { disconnect: true });
    await world.untilState('removed', 'a');
    expect(isWiped(world, 'a')).toBe(true);
    await world.agents.stop('a');
    await world.hosts({ a: shapeOf('a') });
    await world.settle();
    expect(world.host('a')).toMatchObject({ state: 'active' });
    expect(world.host('a')).not.toHaveProperty('leaving');
    expect(world.host('a')).not.toHaveProperty('readmitted');
    await world.place('one', 'a');
    await world.settle();
    expect(servers(world, 'nat:edge')).toEqual(['a']);
    expectSound(world);
  });

  test('scale-in-12: no-trace-of-a-removed-host-is-left, intended or observed', async () => {
    const world = await scaleInWorld();
    const http = await HttpApi.start(world);
    const ids = idsOf(world, 'a');
    expect(await traceIn(http, ids)).not.toContain(404);
    await world.place('one', 'a');
    await world.place('two', 'b');
    expect((await http.rpc('start', ['a'])).status).toBe(200);
    await world.untilState('drained', 'a');
    expect((await http.rpc('end', ['a'])).status).toBe(409);
    await world.disconnect('a');
    expect((await http.rpc('end', ['a'])).status).toBe(200);
    await world.untilState('removed', 'a');
    await world.settle();
    expect(new Set(await traceIn(http, ids))).toEqual(new Set([404]));
    const topology = await http.get('/restconf/data/network-topology:network-topology');
    const inventory = await http.get('/restconf/data/opendaylight-inventory:nodes');
    for (const id of ids.slice(1)) expect(JSON.stringify([topology.body, inventory.body])).not.toContain(id);
    for (const host of HOSTS.slice(1)) expect(traces(world, host, 'a')).toEqual([]);
    const tokens = world.all(TOKEN).filter(({ doc }) => doc.host === 'a');
    expect(tokens.length).toBeGreaterThan(0);
    for (const { doc } of tokens) expect(doc).toHaveProperty('revoked');
    expectSound(world);
  });
});
