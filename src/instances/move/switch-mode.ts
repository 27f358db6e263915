// What a move has to know of its back end: whether ports can be bound at two hosts, what a failed try left behind, and whether the ports still count as
// bound at the source. It orders nothing.
import { mark, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { findHost } from '../../hosts/index.ts';
import { capabilitiesOf, PORT, unbindPort, type StoredPort } from '../../network/index.ts';
import { MOVER, type MovingInstance, type MoveContext } from './context.ts';
import { nonInlinePorts } from '../back-end-orders.ts';
import { bindModeOn, portsOf } from '../build/placement.ts';

/** `none`: the server has to bind nothing outside the journal. */
export type SwitchMode = 'none' | 'two-bindings' | 'one-binding';

/** How the ports get to the host of the last try, whatever its result. */
export function switchModeOf(fleet: FleetReader, { doc }: Pick<MovingInstance, 'doc'>): SwitchMode {
  const host = findHost(fleet, doc.move.tries.at(-1)?.host ?? '')?.doc;
  const outside = nonInlinePorts(fleet, portsOf(fleet, doc));
  if (outside.length === 0 || (host !== undefined && bindModeOn(host, doc) !== 'ready')) return 'none';
  return outside.every((port) => capabilitiesOf(fleet, port.doc.network).multipleBindings)
    ? 'two-bindings'
    : 'one-binding';
}

/** The step after a target was chosen. */
export function firstStep(fleet: FleetReader, instance: MovingInstance): 'bind-target' | 'prepare' {
  return switchModeOf(fleet, instance) === 'two-bindings' ? 'bind-target' : 'prepare';
}

/**
 * What follows a try that failed at this step: what it left at the back end is removed first. Where there is one binding, the ports are bound to the
 * source again, under a serial of their own.
 */
export function undoFailedTry(look: MoveContext): { readonly step: string; readonly changes: readonly Change[] } {
  const { fleet, item, instance } = look;
  const how = switchModeOf(fleet, instance);
  const bound = how === 'two-bindings' ? ['bind-target', 'prepare', 'migrate'] : ['bind-target', 'migrate'];
  if (how === 'none' || !bound.includes(item.doc.step)) return { step: 'schedule', changes: [] };
  mark('move-unbinds-its-target');
  const changes = how === 'two-bindings' ? [] : nonInlinePorts(fleet, portsOf(fleet, instance.doc)).map(renewSerial);
  return { step: 'unbind-target', changes };
}

function renewSerial({ id, doc }: StoredPort): Change {
  return put(PORT, id, { ...doc, serial: doc.serial + 1 });
}

/** Where there is one binding and its host is unknown: the ports do not count as bound at the source. */
export function unbindIfUncertain({ fleet, item, instance, nowMs }: MoveContext): Change[] {
  const moved = ['bind-target', 'unbind-target', 'migrate', 'query-target'].includes(item.doc.step);
  if (!moved || switchModeOf(fleet, instance) !== 'one-binding') return [];
  const outside = nonInlinePorts(fleet, portsOf(fleet, instance.doc));
  return outside.map((port) => put(PORT, port.id, unbindPort(port.doc, { by: MOVER, nowMs })));
}
