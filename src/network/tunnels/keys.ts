// Tunnel keys: numbers that distinguish packets of different networks and routers between hosts; a tunnel carries 24 bits. The id of a key document
// is its number, so that no two subjects can share one. Keys are created and deleted with their subjects.
import { Type, type Static } from 'typebox';
import { idOf, put, remove, schemaKind, type Change, type FleetReader, type Index } from '../../fleet/index.ts';
import { NETWORK, SEGMENT } from '../model.ts';
import { ROUTER } from '../routers/model.ts';

const TUNNEL_KEY_SCHEMA = Type.Object(
  { for: Type.Enum(['network', 'segment', 'router']), id: Type.String() },
  { additionalProperties: false },
);
type TunnelKey = Static<typeof TUNNEL_KEY_SCHEMA>;
export const TUNNEL_KEY = schemaKind('tunnel-key', TUNNEL_KEY_SCHEMA);

export const TUNNEL_KEYS_BY_SUBJECT: Index<'tunnel-key', TunnelKey> = {
  name: 'tunnel-keys-by-subject',
  kind: TUNNEL_KEY,
  keysOf: (doc) => [subjectOf(doc)],
};

/** Lower numbers are left to people, who assign them by hand. */
const FIRST_KEY = 2 ** 16;
const LAST_KEY = 2 ** 24 - 1;

function subjectOf({ for: kind, id }: TunnelKey): string {
  return `${kind}/${id}`;
}

/** The key of a network, a segment or a router; undefined for one that has none yet. */
export function tunnelKeyOf(fleet: FleetReader, of: TunnelKey): number | undefined {
  const [key] = fleet.find(TUNNEL_KEYS_BY_SUBJECT, subjectOf(of));
  return key === undefined ? undefined : Number(key.id);
}

/**
 * Allocates a key: the wished one, or one derived from the name, or the next free one. A name gets the same key again: what a host that was cut
 * off still has of it keeps its meaning.
 */
export function allocateTunnelKey(fleet: FleetReader, of: TunnelKey, wished?: number): Change {
  let number = wished ?? hashToRange(subjectOf(of));
  while (fleet.get(TUNNEL_KEY, idOf(TUNNEL_KEY, String(number))) !== undefined) {
    number = number >= LAST_KEY ? FIRST_KEY : Math.max(FIRST_KEY, number + 1);
  }
  return put(TUNNEL_KEY, idOf(TUNNEL_KEY, String(number)), of);
}

export function releaseTunnelKey(fleet: FleetReader, of: TunnelKey): Change[] {
  return [...fleet.find(TUNNEL_KEYS_BY_SUBJECT, subjectOf(of))].map(({ id }) => remove(TUNNEL_KEY, id));
}

/** FNV-1a, into the range: similar names get distant keys. */
function hashToRange(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return FIRST_KEY + (((hash ^ (hash >>> 13)) >>> 0) % (LAST_KEY - FIRST_KEY + 1));
}

/** The keys for documents of a version without keys, a slice at a time; empty when all have theirs. */
export function allocateMissingTunnelKeys(fleet: FleetReader, most: number): Change[] {
  const changes: Change[] = [];
  const taken = new Set<string>();
  const give = (of: TunnelKey): void => {
    if (changes.length >= most || tunnelKeyOf(fleet, of) !== undefined) return;
    const change = allocateTunnelKey(fleet, of);
    // Two subjects of one slice with the same key: the second one waits for the next slice.
    if (taken.has(change.id)) return;
    taken.add(change.id);
    changes.push(change);
  };
  for (const { id } of fleet.all(NETWORK)) give({ for: 'network', id });
  for (const { id } of fleet.all(SEGMENT)) give({ for: 'segment', id });
  for (const { id } of fleet.all(ROUTER)) give({ for: 'router', id });
  return changes;
}
