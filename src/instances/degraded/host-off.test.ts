// An instance is recorded as active until an operation changes that, also when an operator has said that its host is off.
import { expect, test } from 'vitest';
import { idOf } from '../../fleet/index.ts';
import { clearForceDown, forceDownHost } from '../../hosts/index.ts';
import type { InstancesWorld } from '../instances-fixture.ts';
import { INSTANCE } from '../model.ts';
import { startActive } from '../move/moves-fixture.ts';
import { instanceToJsonText } from '../representations.ts';

interface DegradedJson {
  readonly degraded?: { readonly message: string };
}

function readInstance(world: InstancesWorld): DegradedJson {
  return JSON.parse(instanceToJsonText(world.fleet.get(INSTANCE, idOf(INSTANCE, 'web'))!, world.fleet)) as DegradedJson;
}

test('an-instance-whose-host-was-forced-down-is-shown-as-degraded-until-that-is-taken-back', async () => {
  const world = await startActive('simulated');
  const { nowMs } = world;
  await world.disconnectHost('h2');
  expect(readInstance(world)).not.toHaveProperty('degraded');
  await world.commit((fleet) => forceDownHost(fleet, { id: 'h2', reason: 'off', by: 'ann', nowMs }));
  expect(readInstance(world)).toMatchObject({
    state: 'active',
    degraded: { code: 'instance-host-off', sinceMs: nowMs, ports: [] },
  });
  expect(readInstance(world).degraded?.message).toContain('does not run: its host h2 was forced down');
  await world.commit((fleet) => clearForceDown(fleet, { id: 'h2', by: 'ann', nowMs }));
  expect(readInstance(world)).not.toHaveProperty('degraded');
});
