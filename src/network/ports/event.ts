// Durable network events: what a back end reports of a port, kept whether or not anything waits for it yet. Each belongs to one binding of its
// port, by serial: an event of an earlier binding must never count for the present one.
import { Type, type Static } from 'typebox';
import {
  idOf,
  mark,
  mergeChanges,
  put,
  remove,
  schemaKind,
  type Change,
  type FleetReader,
  type Id,
  type Index,
  type Model,
  type Stored,
} from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { PORT, type Port } from '../model.ts';

/** `plugged`: the host has connected the port. `unplugged`: it is no longer connected. `failed`: the host could not connect it. */
export const EVENT_NAMES = ['plugged', 'unplugged', 'failed'] as const;
export type EventName = (typeof EVENT_NAMES)[number];

export const EVENT_SCHEMA = Type.Object(
  {
    instance: Type.Optional(Type.String()),
    port: Type.String(),
    name: Type.Enum(EVENT_NAMES),
    serial: Type.Integer({ minimum: 1 }),
    /** Time of arrival. */
    atMs: Type.Integer(),
  },
  { additionalProperties: false },
);
export type NetworkEvent = Static<typeof EVENT_SCHEMA>;
export type NetworkEventId = Id<'network-event'>;

/** Nothing waits for events of an earlier binding, or of a deleted port; an operator may still read them. */
const STALE_EVENT_KEPT_MS = 24 * 3600 * 1000;

export const NETWORK_EVENT = schemaKind('network-event', EVENT_SCHEMA, {
  expiresAtMs: (doc, fleet) => {
    const port = fleet.get(PORT, idOf(PORT, doc.port));
    return port === undefined || isStaleSerial(port.doc, doc.serial) ? doc.atMs + STALE_EVENT_KEPT_MS : undefined;
  },
});

export const EVENTS_BY_PORT: Index<'network-event', NetworkEvent> = {
  name: 'network-events-by-port',
  kind: NETWORK_EVENT,
  keysOf: (doc) => [doc.port],
};

export const networkEventsModel: Model = { kinds: [NETWORK_EVENT], indexes: [EVENTS_BY_PORT] };

/** A report on a port. A repeated report counts once; of the reports on one binding, the last counts. */
export interface NetworkEventReport {
  readonly port: string;
  readonly name: EventName;
  /** The serial of its binding. */
  readonly serial: number;
  readonly instance?: string;
}

export interface RecordEvents {
  readonly events: readonly NetworkEventReport[];
  readonly nowMs: number;
}

/** `stale`: of an earlier binding, and so not kept. */
export type EventResult = 'recorded' | 'already' | 'stale' | 'refused';

export interface EventAnswer {
  readonly port: string;
  readonly name: EventName;
  readonly serial: number;
  readonly result: EventResult;
  /** The status of the refusal if the event had come alone. */
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
}

/** Records all valid events; an invalid one is refused and does not hold up the others. */
export function recordNetworkEvents(fleet: FleetReader, { events, nowMs }: RecordEvents): Decision<EventAnswer[]> {
  const changes: Change[] = [];
  const latestNames = new Map<string, EventName>();
  const answers = events.map((news): EventAnswer => {
    const { port: id, name, serial } = news;
    const port = fleet.get(PORT, idOf(PORT, id));
    const problem = eventProblem(news, port?.doc);
    if (problem !== undefined) return { port: id, name, serial, result: 'refused', ...problem };
    const binding = `${id}:${serial}`;
    const before = latestNames.get(binding) ?? latestEvent(fleet, id, serial)?.name;
    const verdict = classifyEvent(port as Stored<'port', Port>, news, before);
    if (verdict === 'recorded') {
      changes.push(...removeSuperseded(news), putEvent(port as Stored<'port', Port>, news, nowMs));
      latestNames.set(binding, name);
    }
    return { port: id, name, serial, result: verdict };
  });
  const [first] = answers;
  if (first?.message !== undefined && answers.every(({ result }) => result === 'refused')) {
    const { code = '', message } = first;
    return refuse({ kind: first.status === 404 ? 'not-found' : 'conflict', code, message, facts: { events: answers } });
  }
  const isThere = ({ id, doc }: Change): boolean =>
    doc !== null || fleet.get(NETWORK_EVENT, idOf(NETWORK_EVENT, id)) !== undefined;
  return accept(mergeChanges(changes).filter(isThere), answers);
}

function eventProblem(news: NetworkEventReport, port: Port | undefined): Partial<EventAnswer> | undefined {
  if (port === undefined) {
    const message = `There is no port "${news.port}". Send events of ports that Muster knows, by their ids.`;
    return { status: 404, code: 'port-not-found', message };
  }
  if (news.serial > port.serial + 1) {
    const message = `Port ${news.port} was never bound under serial ${news.serial}; the last one given out is ${port.serial}. Send the serial that the bind was ordered with.`;
    return { status: 409, code: 'serial-not-given-out', message };
  }
  if (news.instance === undefined || news.instance === port.instance) return undefined;
  const holder = port.instance === undefined ? 'no instance' : `instance ${port.instance}`;
  const message = `Port ${news.port} is attached to ${holder}, not to ${news.instance}. Leave the instance out or correct it.`;
  return { status: 409, code: 'instance-not-attached', message };
}

function classifyEvent(
  port: Stored<'port', Port>,
  { name, serial }: NetworkEventReport,
  lastSaid: EventName | undefined,
): EventResult {
  if (isStaleSerial(port.doc, serial)) {
    mark('network-event-stale');
    return 'stale';
  }
  if (name !== lastSaid) return 'recorded';
  mark('network-event-repeated');
  return 'already';
}

/**
 * Whether the binding is over. While a port moves to another host it has a binding and a higher serial given out: events may concern both. They
 * may also concern the next serial: the answer to its bind is on its way. Nothing beyond it was ordered.
 */
function isStaleSerial(port: Port, serial: number): boolean {
  return serial < port.serial && serial !== port.binding?.serial;
}

function putEvent({ id, doc }: Stored<'port', Port>, { name, serial }: NetworkEventReport, nowMs: number): Change {
  const event: NetworkEvent = {
    ...(doc.instance !== undefined && { instance: doc.instance }),
    port: id,
    name,
    serial,
    atMs: nowMs,
  };
  return put(NETWORK_EVENT, eventId(id, name, serial), event);
}

/** Earlier events of the same binding no longer count: they are deleted, so that there is one last event. */
function removeSuperseded({ port, name, serial }: NetworkEventReport): Change[] {
  return EVENT_NAMES.filter((other) => other !== name).map((other) =>
    remove(NETWORK_EVENT, eventId(port, other, serial)),
  );
}

/** The same event has the same id, however often it comes. */
export function eventId(port: string, name: EventName, serial: number): NetworkEventId {
  return idOf(NETWORK_EVENT, `${port}:${name}:${serial}`);
}

/** The last event of a binding. An older version that kept all of them may have left several. */
function latestEvent(fleet: FleetReader, port: string, serial: number): NetworkEvent | undefined {
  let last: Stored<'network-event', NetworkEvent> | undefined;
  for (const name of EVENT_NAMES) {
    const event = fleet.get(NETWORK_EVENT, eventId(port, name, serial));
    if (event !== undefined && event.revision > (last?.revision ?? -1)) last = event;
  }
  return last?.doc;
}

/** The last event of the port's present binding. Waits read this first. */
export function latestPlugEvent(fleet: FleetReader, { id, doc }: Stored<'port', Port>): NetworkEvent | undefined {
  return doc.binding === undefined ? undefined : latestEvent(fleet, id, doc.binding.serial);
}

/** Whether the host has reported that it connected the port in its present binding. */
export function isPlugged(fleet: FleetReader, port: Stored<'port', Port>): boolean {
  return latestPlugEvent(fleet, port)?.name === 'plugged';
}
