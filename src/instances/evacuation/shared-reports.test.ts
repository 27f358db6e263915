// One scan of the hosts is shared by instances with equal requirements: what is shared and what is not, what the site of a leaving host changes, and that a
// report leaves the claims as they were.
import { describe, expect, test } from 'vitest';
import { idOf, runTrial, put, type Trial } from '../../fleet/index.ts';
import { runInOneStep, runAllSteps, findHost, HOST, type Host, type LeavingTenants } from '../../hosts/index.ts';
import { CLAIM } from '../../network/index.ts';
import { createPort } from '../../network/decisions-fixture.ts';
import { network, segment, subnet } from '../../network/network-fixture.ts';
import { SITE } from '../../sites/index.ts';
import { beginSweep } from '../delete/clean.ts';
import type { InstancesWorld } from '../instances-fixture.ts';
import { GROUP, type ServerGroup } from '../model.ts';
import { flavor, hostF, INSTANCE_EVACUATOR } from '../reference-fixture.ts';
import { createActive, openReferenceWorld } from './reference-world-fixture.ts';

type Leaver = Omit<LeavingTenants, 'tenants'>;

/** As a preview plans it: with the hosts leaving. */
function plan<T>(
  world: InstancesWorld,
  leaving: readonly Leaver[],
  read: (trial: Trial, messages: readonly string[]) => T,
): T {
  return runTrial(world.fleet, (trial) => {
    for (const { host } of leaving) {
      const stored = findHost(trial, host);
      if (stored !== undefined) trial.add([put(HOST, stored.id, { ...stored.doc, state: 'draining' })]);
    }
    const leavers = leaving.map((one) => ({ ...one, tenants: INSTANCE_EVACUATOR.inventory(trial, one.host) }));
    const planned = runAllSteps(
      INSTANCE_EVACUATOR.plan(() => runInOneStep(trial), leavers, { nowMs: 1, explained: 100 }),
    );
    const messages = planned.map(({ tenant, evacuation }) =>
      evacuation.kind === 'wait'
        ? String(evacuation.reason['message'] ?? evacuation.reason.code)
        : `${tenant.id} moves`,
    );
    return read(trial, messages);
  });
}

const messages = (world: InstancesWorld, ...leaving: readonly Leaver[]): readonly string[] =>
  plan(world, leaving, (_trial, said) => said);

/** Fixture F without a host beside h2 that reaches seg0. */
const SEG0_ON_H2_ONLY = [hostF('h4', 200, 'seg2'), hostF('h5', 100, 'seg2')];

describe('a report', () => {
  test('leaves-the-claims-of-the-plan-as-they-were', async () => {
    const world = await openReferenceWorld(...SEG0_ON_H2_ONLY);
    for (const name of ['one', 'two']) await createActive(world, name);
    const claimsOf = (fleet: Pick<Trial, 'all'>) => [...fleet.all(CLAIM)].map(({ id, doc }) => [id, doc]);
    const before = claimsOf(world.fleet);
    expect(before).toHaveLength(2);
    plan(world, [{ host: 'h2' }], (trial, said) => {
      expect(said).toHaveLength(2);
      expect(claimsOf(trial)).toEqual(before);
    });
  });

  test('counts-the-members-of-a-group-that-were-reported-before', async () => {
    const group: ServerGroup = {
      name: 'g',
      project: 'default',
      policy: 'anti-affinity',
      changedBy: 'test',
      changedAtMs: 0,
    };
    const world = await openReferenceWorld(put(GROUP, idOf(GROUP, 'g'), group), hostF('h5', 100, 'seg2'));
    for (const name of ['one', 'two']) await createActive(world, name, { place: { group: 'g' } });
    expect([world.instance('one')?.host, world.instance('two')?.host]).toEqual(['h2', 'h3']);
    await world.put(put(GROUP, idOf(GROUP, 'g'), { ...group, policy: 'affinity' }));
    const [one, two] = messages(world, { host: 'h2' }, { host: 'h3' });
    // Each of them may only go where the other one is, and both of these hosts leave.
    expect(one).toContain('group');
    expect(two).toContain('group');
  });
});

describe('a report and the site of a leaving host', () => {
  /** Both hosts that reach the segment leave; two other hosts are elsewhere. */
  async function twoSites(): Promise<InstancesWorld> {
    const world = await openReferenceWorld(hostF('h5', 100, 'seg2'));
    await createActive(world, 'one');
    await createActive(world, 'two', { place: { onlyHost: 'h4' } });
    expect([world.instance('one')?.host, world.instance('two')?.host]).toEqual(['h2', 'h4']);
    const far = put(SITE, idOf(SITE, 'far'), { name: 'far', changedBy: 'test', changedAtMs: 0 });
    const away = ['h3', 'h5'].map((name) =>
      put(HOST, idOf(HOST, name), { ...(world.host(name) as Host), site: 'far' }),
    );
    await world.put(far, ...away);
    return world;
  }

  const OF_SITE = { host: 'h2', within: 'central' };
  const OF_ANY = { host: 'h4' };

  test.each([
    ['the-one-of-the-site-first', [OF_SITE, OF_ANY]],
    ['the-one-of-the-site-last', [OF_ANY, OF_SITE]],
  ] as const)('is-not-shared-with-one-that-may-go-to-any-site: %s', async (_name, leaving) => {
    const said = messages(await twoSites(), ...leaving);
    const about = (id: string): string | undefined => said.find((message) => message.includes(`instance ${id} `));
    expect(about('one')).toContain('Site central has 3 hosts.');
    expect(about('two')).not.toContain('Site');
  });

  test('is-about-the-hosts-of-that-site-only', async () => {
    const world = await twoSites();
    await world.change('h5', (doc) => ({ ...doc, physicalNetworks: ['phys-seg0'] }));
    const both = ['h2', 'h4'].map((host) => ({ host }));
    expect(messages(world, ...both)).toEqual(['one moves', 'two moves']);
    const said = messages(world, ...both.map((one) => ({ ...one, within: 'central' })));
    expect(said).toHaveLength(2);
    for (const message of said) {
      expect(message).toContain('Site central has 3 hosts.');
      expect(message).not.toContain('would fit');
    }
  });
});

describe('a report is not shared with an instance that', () => {
  test('is-larger', async () => {
    const world = await openReferenceWorld(
      ...SEG0_ON_H2_ONLY,
      hostF('h4', 1, 'seg0'),
      flavor('large', { memoryMiB: 60 * 1024 }),
    );
    await createActive(world, 'small');
    await createActive(world, 'large', { flavor: 'large' });
    // Nothing else is in the way of the small one: it moves.
    const [large, small] = messages(world, { host: 'h2' });
    expect(large).toContain('61440 MiB requested');
    expect(small).toBe('small moves');
  });

  test('has-a-copy-that-is-to-be-swept-somewhere-else', async () => {
    const world = await openReferenceWorld(...SEG0_ON_H2_ONLY);
    for (const name of ['one', 'two']) await createActive(world, name);
    await world.disconnectHost('h3');
    await world.put(...beginSweep('one', 'h5', 'test', world.nowMs));
    const [one, two] = messages(world, { host: 'h2' });
    expect(one).toContain('an earlier copy of it is still to be destroyed on h5');
    expect(two).not.toContain('copy');
  });

  test('has-a-port-on-another-network', async () => {
    const other = [network('m'), segment('seg9', 'm'), subnet('sub9', 'm', '10.9.0.0/24', { segment: 'seg9' })];
    const world = await openReferenceWorld(...SEG0_ON_H2_ONLY, ...other, hostF('h2', 400, 'seg0', 'seg9'));
    await createActive(world, 'one');
    await createActive(world, 'two', { networks: [{ network: 'm' }] });
    const [one, two] = messages(world, { host: 'h2' });
    expect(one).toContain('of network n, which address 10.0.0.2 is in');
    expect(two).toContain('of network m, which address 10.9.0.2 is in');
  });

  test('has-no-address', async () => {
    const world = await openReferenceWorld(...SEG0_ON_H2_ONLY);
    const bare = { id: 'bare', network: 'n', fixedIps: [], admin: true, by: 'ann', nowMs: world.nowMs };
    await world.commit((fleet) => createPort(fleet, bare));
    await createActive(world, 'one');
    await createActive(world, 'two', { networks: [{ port: 'bare' }], portIds: [], place: { onlyHost: 'h2' } });
    expect(world.addresses('two')).toEqual([]);
    const [one, two] = messages(world, { host: 'h2' });
    expect(one).toContain('which address 10.0.0.2 is in');
    expect(two).not.toContain('10.0.0.2');
  });
});

test('a-shared-report-names-the-address-of-each-instance-on-the-network-that-is-in-the-way', async () => {
  const other = [network('m'), segment('seg9', 'm'), subnet('sub9', 'm', '10.9.0.0/24', { segment: 'seg9' })];
  // Two hosts reach one of the two segments each, none both.
  const world = await openReferenceWorld(
    ...SEG0_ON_H2_ONLY,
    ...other,
    hostF('h2', 400, 'seg0', 'seg9'),
    hostF('h4', 200, 'seg0'),
    hostF('h5', 100, 'seg9'),
  );
  for (const name of ['one', 'two'])
    await createActive(world, name, { networks: [{ network: 'n' }, { network: 'm' }] });
  const said = messages(world, { host: 'h2' });
  expect(world.addresses('one')).toEqual(['10.0.0.2', '10.9.0.2']);
  expect(world.addresses('two')).toEqual(['10.0.0.3', '10.9.0.3']);
  for (const [nth, name] of ['one', 'two'].entries()) {
    expect(said[nth]).toContain(`No host fits instance ${name} now.`);
    expect(said[nth]).toContain(`network n, which address 10.0.0.${nth + 2} is in`);
    expect(said[nth]).toContain(`network m, which address 10.9.0.${nth + 2} is in`);
  }
});
