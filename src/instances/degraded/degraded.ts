// Whether an instance that runs is connected. `degraded` is a condition and no state: it is derived from its ports, their
// bindings and the last word on each, whenever somebody asks, and so is never out of date. What is asked of an instance that
// is degraded (a move, a delete, a shelving) goes on as of any other.
import type { FleetReader, Reason } from '../../fleet/index.ts';
import { OPEN_ITEMS_BY_TARGET, targetKey, type StoredItem } from '../../operations/index.ts';
import { capabilitiesOf, latestPlugEvent, type StoredPort } from '../../network/index.ts';
import type { AttemptFailure } from '../faults.ts';
import { INSTANCE } from '../model.ts';
import { portsOf, type StoredInstance } from '../build/placement.ts';

/**
 * `unbound`: bound to no host, or to another than the instance's. `not-plugged`: nobody has said that the host connected it.
 * `unplugged`, `plug-failed`: somebody has said that it is not.
 */
export const PORT_TROUBLES = ['unbound', 'not-plugged', 'unplugged', 'plug-failed'] as const;
export type PortTrouble = (typeof PORT_TROUBLES)[number];

export interface DisconnectedPort {
  readonly port: StoredPort;
  readonly trouble: PortTrouble;
  /** Since when nothing was said that makes it better. */
  readonly sinceMs: number;
}

/** Whether its back end says when a host has connected it. Of the others a binding is all there is to know. */
export function reportsPlugEvents(fleet: FleetReader, port: StoredPort): boolean {
  return capabilitiesOf(fleet, port.doc.network).events;
}

/** What keeps a port from being connected at a host; undefined when it is, by all that is known. */
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
export function disconnectedPorts(fleet: FleetReader, { doc }: Pick<StoredInstance, 'doc'>): DisconnectedPort[] {
  return portsOf(fleet, doc).flatMap((port) => troubleOf(fleet, port, doc.host ?? '') ?? []);
}

/** The same of an instance that is said to be in service; whoever works on it says by itself how its ports are. */
export function degradedPorts(fleet: FleetReader, instance: Pick<StoredInstance, 'doc'>): DisconnectedPort[] {
  return instance.doc.state === 'active' ? disconnectedPorts(fleet, instance) : [];
}

/** In the names of operations that connect ports again, so that an item is known by its operation's name. */
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

/** The fault of a try whose ports were not plugged: because somebody said so, or because nobody said anything in time. */
export function notPluggedFailure(failed: DisconnectedPort | undefined): AttemptFailure {
  if (failed === undefined) return { fault: 'not-plugged' };
  return { fault: 'not-plugged', text: `The network reported that ${troubleText(failed)}.` };
}
