// The ports of an instance: made before anything else, made once, and at the end deleted or handed back by who made them.
import { expect, test } from 'vitest';
import { idOf, put, type AppliedChange } from '../../../src/fleet/index.ts';
import { disableHost } from '../../../src/hosts/index.ts';
import { createInstances, INSTANCE } from '../../../src/instances/index.ts';
import { PORT, type Port } from '../../../src/network/index.ts';
import type { Item } from '../../../src/operations/index.ts';
import { BOTH, startFixtureF } from '../reference-fixture.ts';
import type { AcceptanceWorld } from '../world-fixture.ts';

const ALL = ['h1', 'h2', 'h3', 'h4', 'h5'];

/** A user's part of a port: everything but its last author and the used serials. */
function userFieldsOf({
  changedBy: _,
  changedAtMs: __,
  serial: ___,
  state: ____,
  ...rest
}: Port): Omit<Port, 'serial'> {
  return rest as Omit<Port, 'serial'>;
}

function reachesStep(step: string): (applied: readonly AppliedChange[]) => boolean {
  return (applied) =>
    applied.some(({ kind, after }) => kind === 'item' && (after?.doc as Item | undefined)?.step === step);
}

async function disableAll(world: AcceptanceWorld): Promise<void> {
  for (const id of ALL)
    await world.commit((fleet) => disableHost(fleet, { id, reason: 'test', by: 'ann', nowMs: world.nowMs }));
}

test.each(BOTH)(
  'scheduling-13 before a host is looked for, the port is there, attached and without host (%s)',
  async (backEnd) => {
    const world = await startFixtureF({ backEnd });
    const attached = { instance: 'web', nic: 0, createdBy: 'muster', state: 'made', addresses: [] };
    await disableAll(world);
    // The build has found no host yet: these ports existed before the placement.
    const looked: (Port | undefined)[] = [];
    world.onCommit((applied) => {
      if (reachesStep('schedule')(applied)) looked.push(world.port('web-p0'));
    });
    await world.create();
    await world.settle();
    expect(looked[0]).toMatchObject(attached);
    expect(looked[0]?.binding).toBeUndefined();
    if (backEnd === 'simulated') expect(world.calls()[0]).toBe('conductor create web-p0 applied');
    expect(world.instance('web').state).toBe('error');
  },
);

test.each(BOTH)(
  "scheduling-14 when no host is found, own ports go, users' ports are as they were, and it says why (%s)",
  async (backEnd) => {
    const world = await startFixtureF({ backEnd });
    await world.userPort('mine', 'n', { fixedIps: [{ ip: '10.2.0.9' }], dnsName: 'web' });
    await world.userPort('late', 'n');
    const before = ['mine', 'late'].map((id) => userFieldsOf(world.port(id)));
    const free = [world.free('segment:seg0'), world.free('segment:seg2')];
    await disableAll(world);
    const web = await world.boot({ networks: [{ network: 'n' }, { port: 'mine' }, { port: 'late' }] });
    expect(web).toMatchObject({ state: 'error', nics: [], attempts: [] });
    expect(web.fault).toMatchObject({ code: 'no-valid-host', report: { hosts: 5 } });
    expect(web.fault?.report?.stages[0]).toMatchObject({
      filter: 'up-and-enabled',
      before: 5,
      after: 0,
      cause: 'host-not-available',
    });
    expect(web.fault?.message).toBe('No host fits. 5 of 5 hosts: disabled.');
    expect(world.hasPort('web-p0')).toBe(false);
    expect(['mine', 'late'].map((id) => userFieldsOf(world.port(id)))).toEqual(before);
    expect([world.free('segment:seg0'), world.free('segment:seg2')]).toEqual(free);
    expect(world.claim('web')).toBeUndefined();
    if (backEnd === 'embedded') return;
    expect(world.network.port('web-p0')).toBeUndefined();
    expect(world.network.port('mine')).toMatchObject({ instance: undefined, binding: undefined });
  },
);

test.each(BOTH)(
  'scheduling-18 an address whose segment has no host fails before anything is bound (%s)',
  async (backEnd) => {
    const world = await startFixtureF({ backEnd });
    await world.segment('seg9', 'n');
    await world.subnet('sub9', 'n', '10.9.0.0/24', { segment: 'seg9' });
    await world.userPort('mine', 'n', { fixedIps: [{ ip: '10.9.0.9' }] });
    const web = await world.boot({ networks: [{ port: 'mine' }] });
    expect(web).toMatchObject({ state: 'error', attempts: [], fault: { code: 'no-valid-host' } });
    const stage = web.fault?.report?.stages.find(({ filter }) => filter === 'segments');
    expect(stage).toMatchObject({ before: 5, after: 0, cause: 'segment-unreachable', facts: { network: 'n' } });
    expect(world.calls().filter((call) => call.includes(' bind '))).toEqual([]);
    expect(world.versionsOf('port', 'mine').every((port) => port?.['binding'] === undefined)).toBe(true);
    expect(world.port('mine').addresses).toMatchObject([{ ip: '10.9.0.9', chosenBy: 'user' }]);
  },
);

test.each(BOTH)("scheduling-19 a user's port is taken as long as a build tries on with it (%s)", async (backEnd) => {
  const world = await startFixtureF({ backEnd });
  await world.userPort('mine', 'n');
  world.arm({ op: 'spawn', host: 'h2', outcome: 'spawn-failed' });
  world.arm({ op: 'spawn', host: 'h3', outcome: 'spawn-failed' });
  const codes = new Set<string>();
  let calls = 0;
  world.onCommit(() => {
    const other = world.createCommand({ name: 'other', networks: [{ port: 'mine' }] });
    const decision = createInstances(world.fleet, other);
    calls += 1;
    codes.add(decision.kind === 'refuse' ? `${decision.refusal.kind} ${decision.refusal.code}` : 'accepted');
  });
  const web = await world.boot({ networks: [{ port: 'mine' }] });
  expect(web).toMatchObject({ state: 'active', host: 'h4' });
  expect(web.attempts.map(({ host, fault }) => [host, fault])).toEqual([
    ['h2', 'spawn-failed'],
    ['h3', 'spawn-failed'],
    ['h4', undefined],
  ]);
  expect(calls).toBeGreaterThan(5);
  expect([...codes]).toEqual(['conflict port-in-use']);
});

test('scheduling-21 when the second of two ports cannot be made, the first is deleted', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  world.arm({ op: 'create', nic: 1, outcome: 'quota' });
  const web = await world.boot({ networks: [{ network: 'n' }, { network: 'n' }] });
  expect(web).toMatchObject({ state: 'error', nics: [], attempts: [], fault: { code: 'quota' } });
  expect(world.calls()).toEqual([
    'conductor create web-p0+web-p1 quota',
    'conductor delete web-p0 applied',
    'conductor delete web-p1 already',
  ]);
  expect(world.all(PORT)).toEqual([]);
  expect(world.network.port('web-p0')).toBeUndefined();
});

test.each([...BOTH, 'host-local' as const])(
  "scheduling-22 with the instance its own port goes and users' ports are kept (%s)",
  async (backEnd) => {
    const world = await startFixtureF({ backEnd });
    await world.userPort('one', 'n');
    await world.userPort('two', 'n', { dnsName: 'web' });
    await world.boot({ networks: [{ port: 'one', tag: 'a' }, { network: 'n' }, { port: 'two' }] });
    const [one, own, two] = world.ports('web');
    expect(own?.createdBy).toBe('muster');
    await world.remove('web');
    await world.settle();
    expect(world.hasInstance('web')).toBe(false);
    expect(world.all(PORT).map(({ id }) => id)).toEqual(['one', 'two']);
    for (const [id, before] of [
      ['one', one],
      ['two', two],
    ] as const) {
      const port = world.port(id);
      // The instance ran: the port keeps the address that it had there.
      expect(port.addresses.map(({ ip }) => ip)).toEqual(before?.addresses.map(({ ip }) => ip));
      expect(port).not.toHaveProperty('instance');
      expect(port).not.toHaveProperty('nic');
      expect(port).not.toHaveProperty('tag');
      expect(port).not.toHaveProperty('binding');
      expect(port).not.toHaveProperty('dnsName');
    }
    expect(world.copies('web')).toEqual([]);
    expect(world.claim('web')).toBeUndefined();
    if (backEnd !== 'simulated') return;
    expect(world.network.port('web-p1')).toBeUndefined();
    expect(world.network.port('one')).toMatchObject({ instance: undefined, binding: undefined });
    // The same port can be used again.
    const next = await world.boot({ name: 'next', networks: [{ port: 'one' }] });
    expect(next).toMatchObject({ state: 'active', host: 'h2' });
  },
);

test.each(BOTH)(
  "scheduling-23 a user's port that came later is kept, whatever was forgotten meanwhile (%s)",
  async (backEnd) => {
    const world = await startFixtureF({ backEnd });
    await world.userPort('mine', 'n', { fixedIps: [{ ip: '10.0.0.99' }] });
    await world.boot();
    // As an attach of a port to a running instance leaves it.
    const web = world.instance('web');
    const mine = { ...world.port('mine'), instance: 'web', nic: 1 };
    const nics = [...web.nics, { port: 'mine', network: 'n' }];
    await world.put(put(PORT, idOf(PORT, 'mine'), mine), put(INSTANCE, idOf(INSTANCE, 'web'), { ...web, nics }));
    // Nothing in memory survives, neither at the server nor at the hosts.
    await world.restart();
    for (const host of ALL) await world.agents.restart(host);
    await world.remove('web');
    await world.settle();
    expect(world.all(PORT).map(({ id }) => id)).toEqual(['mine']);
    expect(world.port('mine').addresses).toMatchObject([{ ip: '10.0.0.99' }]);
    expect(world.port('mine')).not.toHaveProperty('instance');
    if (backEnd === 'simulated') expect(world.network.port('web-p0')).toBeUndefined();
  },
);

test('scheduling-24 a port that vanished at the back end does not keep the rest', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  await world.userPort('mine', 'n');
  await world.boot({ networks: [{ network: 'n' }, { network: 'n' }, { port: 'mine' }] });
  world.arm({ op: 'delete', nic: 0, outcome: 'not-found' });
  world.arm({ op: 'unbind', nic: 2, outcome: 'not-found' });
  const operation = await world.remove('web');
  await world.settle();
  expect(world.operationDoc(operation).state).toBe('succeeded');
  expect(world.hasInstance('web')).toBe(false);
  expect(world.all(PORT).map(({ id }) => id)).toEqual(['mine']);
  expect(world.network.port('web-p1')).toBeUndefined();
  expect(world.claim('web')).toBeUndefined();
});

test('scheduling-25 a conductor that dies between create and bind is followed by one with the same ports', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  await world.create();
  await world.restartWhen(reachesStep('schedule'));
  const [before] = world.ports('web');
  expect(before).toMatchObject({ state: 'made', instance: 'web' });
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2', nics: [{ port: 'web-p0' }] });
  expect(world.port('web-p0').mac).toBe(before?.mac);
  expect(world.calls()).toEqual(['conductor create web-p0 applied', 'conductor bind web-p0@h2 applied']);
});

test('scheduling-25 a conductor that dies between create and bind, and a build that fails: no port remains', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  world.arm({ op: 'bind', outcome: 'binding-failed', times: 3 });
  await world.create();
  await world.restartWhen(reachesStep('schedule'));
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'error', nics: [], fault: { code: 'attempts-exhausted' } });
  expect(world.all(PORT)).toEqual([]);
  expect(world.network.port('web-p0')).toBeUndefined();
  expect(world.calls().filter((call) => call.includes('create'))).toEqual(['conductor create web-p0 applied']);
  expect([world.free('segment:seg0'), world.free('segment:seg2')]).toEqual([253, 253]);
});
