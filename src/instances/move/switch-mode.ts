// What a move has to know of its back end: whether ports there can be bound at two hosts, what a try that came to nothing left behind,
// and whether the ports can still be called bound at the source. It orders nothing.
import { mark, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { findHost } from '../../hosts/index.ts';
import { capabilitiesOf, PORT, unbindPort, type StoredPort } from '../../network/index.ts';
import { MOVER, type MovingInstance, type MoveContext } from './context.ts';
import { nonInlinePorts } from '../back-end-orders.ts';
import { bindModeOn, portsOf } from '../build/placement.ts';

/** `none`: nothing outside the journal has to be bound by the server. */
export type SwitchMode = 'none' | 'two-bindings' | 'one-binding';

/** How the ports get to the host of the last try, whatever became of it. */
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
 * What follows a try that came to nothing at this step: what it left at the back end goes first. Where there is one binding, the
 * ports are bound to the source again, under a serial of their own.
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

/** Where there is one binding and nobody knows where it is: the ports are not called bound at the source. */
export function unbindIfUncertain({ fleet, item, instance, nowMs }: MoveContext): Change[] {
  const moved = ['bind-target', 'unbind-target', 'migrate', 'ask-target'].includes(item.doc.step);
  if (!moved || switchModeOf(fleet, instance) !== 'one-binding') return [];
  const outside = nonInlinePorts(fleet, portsOf(fleet, instance.doc));
  return outside.map((port) => put(PORT, port.id, unbindPort(port.doc, { by: MOVER, nowMs })));
}
