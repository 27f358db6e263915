// The host of an instance, by the network requirements of its NICs.
import { expect, test } from 'vitest';
import { disableHost, forceDownHost } from '../../../src/hosts/index.ts';
import { createSubnet } from '../../../src/network/decisions-fixture.ts';
import { BOTH, startFixtureF } from '../reference-fixture.ts';
import type { AcceptanceWorld } from '../world-fixture.ts';

const SEG0 = /^10\.0\.0\.\d+$/;

async function disable(world: AcceptanceWorld, ...hosts: readonly string[]): Promise<void> {
  for (const id of hosts)
    await world.commit((fleet) => disableHost(fleet, { id, reason: 'test', by: 'ann', nowMs: world.nowMs }));
}

async function forceDown(world: AcceptanceWorld, id: string): Promise<void> {
  await world.agents.stop(id);
  await world.commit((fleet) => forceDownHost(fleet, { id, reason: 'off', by: 'ann', nowMs: world.nowMs }));
}

test.each(BOTH)('scheduling-1 a deferred port goes to the best host that reaches a segment (%s)', async (backEnd) => {
  const world = await startFixtureF({ backEnd });
  await world.userPort('mine', 'n');
  const web = await world.boot({ networks: [{ port: 'mine' }] });
  expect(web).toMatchObject({ state: 'active', host: 'h2' });
  expect(world.addresses('web')).toEqual([expect.stringMatching(SEG0)]);
  expect(world.port('mine').addresses).toMatchObject([{ subnet: 'sub0', chosenBy: 'bind' }]);
  // The best of all hosts is in no segment: it is not chosen when nothing else is left either.
  await disable(world, 'h2', 'h3', 'h4', 'h5');
  const other = await world.boot({ name: 'other' });
  expect(other).toMatchObject({ state: 'error', fault: { code: 'no-valid-host' } });
  expect(world.tasks()).toEqual(['build web on h2']);
});

test.each(BOTH)('scheduling-2 a port with an address is placed where the address is (%s)', async (backEnd) => {
  const world = await startFixtureF({ backEnd });
  await world.userPort('mine', 'n', { fixedIps: [{ ip: '10.2.0.9' }] });
  const web = await world.boot({ networks: [{ port: 'mine' }] });
  expect(web).toMatchObject({ state: 'active', host: 'h3' });
  expect(world.addresses('web')).toEqual(['10.2.0.9']);
  expect(world.port('mine').binding).toMatchObject({ host: 'h3', segment: 'seg2' });
});

test.each(BOTH)('scheduling-3 a NIC by network is deferred until it is bound (%s)', async (backEnd) => {
  const world = await startFixtureF({ backEnd });
  const web = await world.boot();
  expect(web).toMatchObject({ state: 'active', host: 'h2' });
  const versions = world.versionsOf('port', 'web-p0');
  const before = versions.filter((port) => port?.['binding'] === undefined);
  expect(before.every((port) => port?.['ipAllocation'] === 'deferred')).toBe(true);
  expect(before.flatMap((port) => port?.['addresses'])).toEqual([]);
  // A back end in the journal creates and binds in one commit; one outside gets orders in between.
  expect(before.length).toBe(backEnd === 'embedded' ? 0 : 3);
  expect(world.port('web-p0')).toMatchObject({
    ipAllocation: 'deferred',
    addresses: [{ subnet: 'sub0', chosenBy: 'bind' }],
    binding: { host: 'h2', segment: 'seg0' },
  });
  expect(world.addresses('web')).toEqual([expect.stringMatching(SEG0)]);
});

test.each(BOTH)('scheduling-4 ports in two segments need a host that is in both (%s)', async (backEnd) => {
  const world = await startFixtureF({ backEnd });
  const ports = async (name: string): Promise<{ port: string }[]> => {
    await world.userPort(`${name}-0`, 'n', { fixedIps: [{ subnet: 'sub0' }] });
    await world.userPort(`${name}-2`, 'n', { fixedIps: [{ subnet: 'sub2' }] });
    return [{ port: `${name}-0` }, { port: `${name}-2` }];
  };
  const web = await world.boot({ networks: await ports('web') });
  expect(web).toMatchObject({ state: 'active', host: 'h5' });
  expect(world.ports('web').map(({ binding }) => binding?.segment)).toEqual(['seg0', 'seg2']);
  await disable(world, 'h5');
  const other = await world.boot({ name: 'other', networks: await ports('other') });
  expect(other).toMatchObject({ state: 'error', fault: { code: 'no-valid-host' } });
});

test.each(BOTH)('scheduling-5 a move keeps the addresses, and so the segment (%s)', async (backEnd) => {
  const world = await startFixtureF({ backEnd });
  await world.boot();
  const [before] = world.ports('web');
  await world.move('web');
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  const [after] = world.ports('web');
  expect(after).toMatchObject({ mac: before?.mac, addresses: before?.addresses });
  expect(after?.binding).toMatchObject({ host: 'h4', segment: 'seg0' });
  expect(world.copies('web')).toEqual(['h4']);
  expect(world.claim('web')?.host).toBe('h4');
  expect(world.claim('web', 'move')).toBeUndefined();
});

test.each(BOTH)(
  'scheduling-5 an evacuation after force-down keeps the addresses, and so the segment (%s)',
  async (backEnd) => {
    const world = await startFixtureF({ backEnd });
    await world.boot();
    const [before] = world.ports('web');
    await forceDown(world, 'h2');
    await world.rebuild('web');
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    const [after] = world.ports('web');
    expect(after).toMatchObject({ mac: before?.mac, addresses: before?.addresses });
    expect(after?.binding).toMatchObject({ host: 'h4', segment: 'seg0' });
    expect(world.claim('web')?.host).toBe('h4');
  },
);

test.each(BOTH)('scheduling-6 a shelved instance is scheduled again (%s)', async (backEnd) => {
  const world = await startFixtureF({ backEnd });
  await world.boot();
  const addresses = world.addresses('web');
  await world.shelve('web');
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'shelved' });
  expect(world.instance('web').host).toBeUndefined();
  expect(world.copies('web')).toEqual([]);
  expect(world.claim('web')).toBeUndefined();
  expect(world.ports('web')[0]?.binding).toBeUndefined();
  await world.unshelve('web');
  await world.settle();
  // Its last host is as good as any other.
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
  expect(world.addresses('web')).toEqual(addresses);
  await world.shelve('web');
  await world.settle();
  await disable(world, 'h2');
  await world.unshelve('web');
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  expect(world.addresses('web')).toEqual(addresses);
});

test.each([...BOTH, 'host-local' as const])(
  'scheduling-7 a dual-stack segment gives one address of each version (%s)',
  async (backEnd) => {
    const world = await startFixtureF({ backEnd });
    await world.subnet('sub0v6', 'n', 'fd00::/64', { segment: 'seg0' });
    const web = await world.boot();
    expect(web).toMatchObject({ state: 'active', host: 'h2' });
    const [port] = world.ports('web');
    expect(port?.addresses.map(({ subnet }) => subnet).toSorted()).toEqual(['sub0', 'sub0v6']);
    expect(port?.binding?.segment).toBe('seg0');
  },
);

test('scheduling-8 a network is routed throughout or not at all', async () => {
  const world = await startFixtureF();
  await world.net('plain');
  await world.segment('seg9', 'plain');
  await world.subnet('flat', 'plain', '192.168.0.0/24');
  const { nowMs } = world;
  const request = { by: 'ann', nowMs, cidr: '10.9.0.0/24', name: 'mixed' };
  const bare = await world.refusal((fleet) => createSubnet(fleet, { ...request, network: 'n' }));
  expect(bare).toMatchObject({ code: 'subnet-without-segment', field: '/segment' });
  const segmented = await world.refusal((fleet) =>
    createSubnet(fleet, { ...request, network: 'plain', segment: 'seg9' }),
  );
  expect(segmented).toMatchObject({ code: 'subnet-with-segment', field: '/segment' });
});

test.each(BOTH)('scheduling-9 a port with a requested address is immediate (%s)', async (backEnd) => {
  const world = await startFixtureF({ backEnd });
  await world.userPort('mine', 'n', { fixedIps: [{ ip: '10.0.0.77' }] });
  expect(world.port('mine')).toMatchObject({
    ipAllocation: 'immediate',
    addresses: [{ ip: '10.0.0.77', subnet: 'sub0', chosenBy: 'user' }],
  });
  expect(world.port('mine').binding).toBeUndefined();
  await world.boot({ networks: [{ network: 'n', fixedIp: '10.2.0.77' }] });
  expect(world.versionsOf('port', 'web-p0')[0]).toMatchObject({
    ipAllocation: 'immediate',
    addresses: [{ ip: '10.2.0.77', subnet: 'sub2', chosenBy: 'user' }],
  });
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h3' });
});

test.each(BOTH)(
  'scheduling-10 a port that never has an address is bound where its network is (%s)',
  async (backEnd) => {
    const world = await startFixtureF({ backEnd });
    await world.userPort('bare', 'n', { fixedIps: [] });
    const web = await world.boot({ networks: [{ port: 'bare' }] });
    expect(web).toMatchObject({ state: 'active', host: 'h2' });
    expect(world.port('bare')).toMatchObject({ ipAllocation: 'none', addresses: [], binding: { host: 'h2' } });
    await disable(world, 'h2', 'h3', 'h4', 'h5');
    await world.userPort('bare-2', 'n', { fixedIps: [] });
    const other = await world.boot({ name: 'other', networks: [{ port: 'bare-2' }] });
    expect(other).toMatchObject({ state: 'error', fault: { code: 'no-valid-host' } });
  },
);

test('an instance without networks is placed on the best host of all', async () => {
  const world = await startFixtureF();
  expect(await world.boot({ networks: 'none' })).toMatchObject({ state: 'active', host: 'h1', nics: [] });
});

test('auto uses the only network, and creates one where there is none', async () => {
  const world = await startFixtureF();
  expect(await world.boot({ networks: 'auto' })).toMatchObject({
    state: 'active',
    host: 'h2',
    nics: [{ network: 'n' }],
  });
  const own = await world.boot({ name: 'own', project: 'new', networks: 'auto' });
  expect(own).toMatchObject({ state: 'active', host: 'h1' });
  const [nic] = own.nics;
  expect(nic?.network).not.toBe('n');
  expect(world.addresses('own')).toHaveLength(1);
  // The next one finds the network created for the first.
  const next = await world.boot({ name: 'next', project: 'new', networks: 'auto' });
  expect(next.nics[0]?.network).toBe(nic?.network);
});
