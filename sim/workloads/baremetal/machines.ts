// The simulated machines as the world sees them, and what an operator does to them by hand: faults are disarmed, machines that hang are put right, disks are wiped.
import { machineOf } from '../../../src/baremetal/drivers/simulated/act.ts';
import { disarmFaults } from '../../../src/baremetal/drivers/simulated/faults.ts';
import { settleMachine } from '../../../src/baremetal/drivers/simulated/machine.ts';
import { MACHINE, type Machine } from '../../../src/baremetal/drivers/simulated/model.ts';
import { NODE } from '../../../src/baremetal/index.ts';
import { confirmNodeClean } from '../../../src/baremetal/nodes/decide.ts';
import { idOf, put, type FleetReader } from '../../../src/fleet/index.ts';
import { accept } from '../../../src/journal/index.ts';
import { WORLD_BEGINS_MS } from '../../kernel/clock.ts';
import type { OperatorCommand } from '../../world/operator.ts';
import type { World } from '../../world/world.ts';
import { plain } from '../commands.ts';

/** As it is by now; servers' clocks differ by little at rest. */
export function machineNow(world: World, fleet: FleetReader, node: string): Machine {
  return settleMachine(machineOf(fleet, node), WORLD_BEGINS_MS + world.scheduler.nowMs);
}

/** Nothing fails any more, and what hangs ends. */
export function repairMachines(by: string): OperatorCommand<unknown> {
  return plain(by, (fleet, nowMs) => {
    const hanging = [...fleet.all(MACHINE)].filter(
      ({ doc }) => (doc.state === 'deploying' || doc.state === 'cleaning') && doc.doneAtMs === undefined,
    );
    const disarmed = disarmFaults(fleet);
    const disarms = disarmed.kind === 'accept' ? disarmed.changes : [];
    return accept([...disarms, ...hanging.map(({ id, doc }) => put(MACHINE, id, { ...doc, doneAtMs: nowMs }))], null);
  });
}

/** An operator wipes the disks of a node that could not be cleaned, and states it. */
export function wipeNode(id: string, by: string): OperatorCommand<unknown> {
  return plain(by, (fleet, nowMs) => {
    const node = fleet.get(NODE, idOf(NODE, id))?.doc;
    if (node?.state !== 'clean-failed' || node.instance !== undefined) return accept([], null);
    const confirmed = confirmNodeClean(fleet, { id, by, nowMs });
    if (confirmed.kind === 'refuse') return confirmed;
    const { epoch } = machineOf(fleet, id);
    const empty: Machine = { epoch, state: 'empty', power: 'off', ports: [] };
    return accept([...confirmed.changes, put(MACHINE, idOf(MACHINE, id), empty)], null);
  });
}
