// Handovers that were started without the knowledge that BFD to the target is down.
import { describe, expect, test } from 'vitest';
import { fitHost, LEAVING, portOn, routed, service, ElectionWorld } from '../election-fixture.ts';
import { designationEvacuator as evacuator } from '../evacuator.ts';
import { beginEvacuation, planEvacuation } from '../../hosts/index.ts';
import { accept } from '../../journal/index.ts';
import { moveService } from '../move.ts';

const NAT = 'nat:r1';
const NAMES = ['b', 'c'];

/** Everything is at a, which b and c could take it from; b comes first, and its BFD is down. */
async function served(...bfdDown: readonly string[]): Promise<ElectionWorld> {
  const world = await ElectionWorld.of(fitHost('a'), routed('r1', ['s1']), portOn('a', 's1'));
  await world.settle();
  await world.put(...NAMES.flatMap((name) => [fitHost(name), portOn(name, 's1')]));
  await world.settle();
  for (const name of bfdDown) await world.loseBfd(name);
  return world;
}

async function drain(world: ElectionWorld): Promise<void> {
  await world.edit('a', LEAVING);
  await world.commit((fleet) => {
    const leavers = [{ host: 'a', tenants: evacuator.inventory(fleet, 'a') }];
    const planned = planEvacuation(fleet, evacuator, leavers, world);
    const started = beginEvacuation(fleet, evacuator, planned, world.commandContext());
    return 'code' in started ? { kind: 'refuse', refusal: started } : accept(started.changes, null);
  });
}

const hostOf = (world: ElectionWorld): string | undefined => service(world.fleet, NAT)?.designated?.host;

describe('a handover to a host whose BFD most of its peers report down', () => {
  test('goes-to-one-with-BFD-up-instead, and-was-never-at-the-other', async () => {
    const world = await served('b');
    const { epoch = 0 } = service(world.fleet, NAT) ?? {};
    await drain(world);
    expect(service(world.fleet, NAT)?.handover?.to).toBe('b');
    await world.settle();
    expect(world.shown()).toBe('nat:r1 c, subnet-route:s1 c');
    expect(service(world.fleet, NAT)?.epoch).toBe(epoch + 1);
    expect(service(world.fleet, NAT)?.why).toMatchObject({ cause: 'host-leaving', chosen: 'c' });
    expect(service(world.fleet, NAT)?.why?.rejected).toContainEqual({ host: 'b', because: 'bfd-down' });
    expect(world.violations).toEqual([]);
  });

  test('goes-on-when-BFD-to-all-others-is-down-as-well', async () => {
    const world = await served('b', 'c');
    await drain(world);
    await world.settle();
    expect(hostOf(world)).toMatch(/^[bc]$/);
    expect(world.violations).toEqual([]);
  });

  test('turns-away-also-when-it-is-lost-while-connections-are-copied', async () => {
    const world = await served();
    await drain(world);
    await world.until(NAT, 'syncing');
    const to = service(world.fleet, NAT)?.handover?.to ?? '';
    await world.loseBfd(to);
    await world.settle();
    expect(hostOf(world)).toBe(NAMES.find((name) => name !== to));
    expect(world.violations).toEqual([]);
  });

  test('that-was-requested-ends-and-says-why', async () => {
    const world = await served('b');
    await world.commit((fleet) => moveService(fleet, { id: NAT, host: 'b', ...world.commandContext() }));
    await world.settle();
    expect(hostOf(world)).toBe('a');
    expect(world.items().at(-1)).toMatchObject({
      state: 'failed',
      reason: { code: 'target-unfit', host: 'b', because: 'bfd-down' },
    });
    expect(world.wrong()).toEqual([]);
  });
});
