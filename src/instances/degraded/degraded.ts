// Decides whether an active instance is connected. `degraded` is a condition and no state: it is derived from the ports, their bindings and the last
// event of each, on every read, and so is never out of date. Operations on a degraded instance (a move, a delete, a shelve) work as on any other.
import type { FleetReader, Reason } from '../../fleet/index.ts';
import { findHost, type Host } from '../../hosts/index.ts';
import { OPEN_ITEMS_BY_TARGET, targetKey, type StoredItem } from '../../operations/index.ts';
import { capabilitiesOf, latestPlugEvent, type StoredPort } from '../../network/index.ts';
import type { AttemptFailure } from '../faults.ts';
import { INSTANCE } from '../model.ts';
import { portsOf, type StoredInstance } from '../build/placement.ts';

/**
 * `unbound`: bound to no host, or to another than the instance's. `not-plugged`: no report that the host connected it. `unplugged`,
 * `plug-failed`: a report that it is not connected.
 */
export const PORT_TROUBLES = ['unbound', 'not-plugged', 'unplugged', 'plug-failed'] as const;
export type PortTrouble = (typeof PORT_TROUBLES)[number];

export interface DisconnectedPort {
  readonly port: StoredPort;
  readonly trouble: PortTrouble;
  /** Since when no report has improved it. */
  readonly sinceMs: number;
}

/** Whether its back end reports when a host has connected it. For the others the binding is all there is to know. */
export function reportsPlugEvents(fleet: FleetReader, port: StoredPort): boolean {
  return capabilitiesOf(fleet, port.doc.network).events;
}

/** What keeps a port from being connected at a host; undefined when it is connected, as far as known. */
function troubleOf(fleet: FleetReader, port: StoredPort, host: string): DisconnectedPort | undefined {
  const { binding, changedAtMs } = port.doc;
  if (binding?.host !== host) return { port, trouble: 'unbound', sinceMs: changedAtMs };
  if (!reportsPlugEvents(fleet, port)) return undefined;
  const event = latestPlugEvent(fleet, port);
  switch (event?.name) {
    case 'plugged':
      return undefined;
    case 'unplugged':
      return { port, trouble: 'unplugged', sinceMs: event.atMs };
    case 'failed':
      return { port, trouble: 'plug-failed', sinceMs: event.atMs };
    case undefined:
      return { port, trouble: 'not-plugged', sinceMs: changedAtMs };
  }
}

/** The ports that are not connected where the instance is, in the order of its NICs. */
export function listDisconnectedPorts(fleet: FleetReader, { doc }: Pick<StoredInstance, 'doc'>): DisconnectedPort[] {
  return portsOf(fleet, doc).flatMap((port) => troubleOf(fleet, port, doc.host ?? '') ?? []);
}

/** An active instance on a host: an open operation reports on the ports of others itself. */
export function isAtRest({ doc: { state, builder } }: Pick<StoredInstance, 'doc'>): boolean {
  return state === 'active' && builder === undefined;
}

export function degradedPorts(fleet: FleetReader, instance: Pick<StoredInstance, 'doc'>): DisconnectedPort[] {
  return isAtRest(instance) ? listDisconnectedPorts(fleet, instance) : [];
}

export const HOST_OFF = 'instance-host-off';

/** An active instance whose host was forced down does not run, whatever its document says of the time before. */
export function findHostOff(fleet: FleetReader, instance: Pick<StoredInstance, 'doc'>): Host['forcedDown'] {
  const { host } = instance.doc;
  return host !== undefined && isAtRest(instance) ? findHost(fleet, host)?.doc.forcedDown : undefined;
}

/** In the names of reconnecting operations, so that an item is known by its operation's name. */
export const REPLUG_PREFIX = 'replug-';

/** The item that connects the ports of an instance again. */
export function openReplugItem(fleet: FleetReader, instance: string): StoredItem | undefined {
  const open = [...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, instance))];
  return open.find(({ doc }) => doc.operation.startsWith(REPLUG_PREFIX));
}

export const DEGRADED = 'instance-degraded';

const TROUBLES: Readonly<Record<PortTrouble, string>> = {
  unbound: 'is not bound to its host',
  'not-plugged': 'was not reported as plugged',
  unplugged: 'was reported as unplugged',
  'plug-failed': 'could not be plugged by its host',
};

/** `port p1 (NIC 0, network lan) is not bound to its host`. */
function troubleText({ port: { id, doc }, trouble }: DisconnectedPort): string {
  return `port ${id} (NIC ${doc.nic ?? 0}, network ${doc.network}) ${TROUBLES[trouble]}`;
}

/** Ports beyond these are not named in a sentence. */
const NAMED_MAX = 3;

export function troublesText(troubled: readonly DisconnectedPort[]): string {
  const named = troubled.slice(0, NAMED_MAX).map(troubleText);
  const more = troubled.length - named.length;
  return `${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

export function degradedReason({ id, doc }: StoredInstance, troubled: readonly DisconnectedPort[]): Reason {
  return { code: DEGRADED, instance: id, host: doc.host, trouble: troublesText(troubled) };
}

/** How long the network may take to report the ports of a build or a move as plugged. */
export const PLUG_TIMEOUT_MS = 300_000;

/** The fault of a try whose ports were not plugged: reported as failed, or not reported in time. */
export function notPluggedFailure(failed: DisconnectedPort | undefined): AttemptFailure {
  if (failed === undefined) return { fault: 'not-plugged' };
  return { fault: 'not-plugged', text: `The network reported that ${troubleText(failed)}.` };
}
