// A start that is bound to a preview hands services over as the preview showed: all its hosts together, not one after the other.
import { expect, test } from 'vitest';
import { Fleet, idOf, put, Registry } from '../fleet/index.ts';
import { startScaleIn } from '../hosts/index.ts';
import { operationsModel, type OperationId } from '../operations/index.ts';
import { fitHost, fleetOf, MODELS, portOn, routed, service } from './election-fixture.ts';
import { designationEvacuator } from './evacuator.ts';
import { SERVICE, type Service } from './model.ts';

const held = (subject: string, host: string): Service => ({
  type: 'nat',
  subject,
  exclusion: 'soft',
  onControlLoss: 'move',
  epoch: 1,
  designated: { host, sinceMs: 0 },
  changedBy: 'test',
  changedAtMs: 0,
});

test('hosts-that-leave-together-are-chosen-for-together', () => {
  const fleet = new Fleet(new Registry([operationsModel, ...MODELS]));
  const hosts = ['a', 'b', 'x', 'y'];
  const subnets = ['s1', 's2'];
  const routers = subnets.flatMap((subnet, nth) => routed(`r${nth + 1}`, [subnet]));
  const ports = hosts.flatMap((host) => subnets.map((subnet) => portOn(host, subnet)));
  fleet.apply(
    1,
    fleetOf(
      hosts.map((host) => fitHost(host)),
      routers,
      ports,
    ),
  );
  fleet.apply(2, [
    put(SERVICE, idOf(SERVICE, 'nat:r1'), held('r1', 'b')),
    put(SERVICE, idOf(SERVICE, 'nat:r2'), held('r2', 'a')),
  ]);
  const command = { operation: 'op-1' as OperationId, by: 'ann', nowMs: 5, deadlineMs: 1000 };
  const decision = startScaleIn(fleet, [designationEvacuator], { hosts: ['a', 'b'], drain: true, ...command });
  if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
  fleet.apply(3, decision.changes);
  // In the order of services: the first of them gets the first of the hosts that are left.
  expect(['nat:r1', 'nat:r2'].map((id) => service(fleet, id)?.handover?.to)).toEqual(['x', 'y']);
});
