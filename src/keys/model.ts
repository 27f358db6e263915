// Which keys the servers of a control plane are to have: their ids and nothing else. A key itself, even a public one, is never here.
import { Type, type Static } from 'typebox';
import { compileChecker, idOf, schemaKind, type FleetReader, type Id, type Model } from '../fleet/index.ts';

const KEY_IDS = Type.Object(
  {
    /** Grows with every rotation. */
    serial: Type.Integer(),
    /** The current one first, then those that are still valid. */
    signing: Type.Array(Type.String()),
    authorities: Type.Array(Type.String()),
    /** The journal of this control plane, and before it those of which backups were restored into it, the latest first. */
    journals: Type.Array(Type.String(), { minItems: 1 }),
    changedAtMs: Type.Integer(),
  },
  { additionalProperties: false },
);
export type KeyIds = Static<typeof KEY_IDS>;

export const CONTROL_PLANE_KEYS = schemaKind('control-plane-keys', KEY_IDS);

const ONLY: Id<'control-plane-keys'> = idOf(CONTROL_PLANE_KEYS, 'current');

export const KEYS_ID = ONLY;

/** How many journals back an agent may have been away. */
export const JOURNALS_MAX = 16;

export const keysModel: Model = { kinds: [CONTROL_PLANE_KEYS] };

/** Where the ids are, for tools that read the journal's store without a fleet. */
export const KEYS_RESOURCE: readonly [kind: string, id: string] = [CONTROL_PLANE_KEYS.name, ONLY];

const check = compileChecker(KEY_IDS);

/** From the text of the document. Undefined when it is not what this version writes: naming keys must not keep a backup from being made. */
export function parseKeyIds(body: string): KeyIds | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return check(value).length === 0 ? (value as KeyIds) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function findKeyIds(fleet: FleetReader): KeyIds | undefined {
  return fleet.get(CONTROL_PLANE_KEYS, ONLY)?.doc;
}

/** The journals that this one continues, as far as its lease holder has recorded them. */
export function findPredecessors(fleet: FleetReader, journalId: string): readonly string[] {
  const [current, ...before] = findKeyIds(fleet)?.journals ?? [];
  return current === journalId ? before : [];
}
