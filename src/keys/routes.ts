// Which keys sealed the secrets of the fleet, and sealing them anew after a change of key. No secret and no key is ever shown.
import { Type } from 'typebox';
import { answer, read, write, type Route } from '../access/index.ts';
import { put, type FleetReader, type Kind } from '../fleet/index.ts';
import { accept, refuse } from '../journal/index.ts';
import { countByKey, refuseToSeal, resealDocuments, unchangedSince, type Secrets } from './secrets.ts';

/** In one commit. */
const RESEALED_MAX = 200;

const KEY = Type.Object({
  id: Type.String(),
  use: Type.Enum(['current', 'earlier', 'missing'], {
    description:
      'current: seals what is new; earlier: opens what it sealed; missing: this server does not have it, and what it sealed cannot be used',
  }),
  secrets: Type.Integer({ description: 'how many secrets of documents it sealed' }),
});

const KEYS = Type.Object({ items: Type.Array(KEY) });
const RESEALED = Type.Object({
  resealed: Type.Integer({ description: 'documents whose secrets are sealed by the current key now' }),
  left: Type.Integer({
    description: 'secrets that are sealed by another key still: ask again, or give the server that key',
  }),
});

export function sealingKeyRoutes(secrets: Secrets, kinds: readonly Kind[]): Route[] {
  const canReseal = (fleet: FleetReader): boolean =>
    secrets.keyIds().length > 0 && listMissingKeys(countByKey(fleet, kinds), secrets).length === 0;
  return [
    read({
      method: 'GET',
      path: '/api/v1/sealing-keys',
      tag: 'tokens',
      about: 'Show which keys sealed the secrets in documents, and whether the server that decides has them',
      access: 'admin',
      onFollower: 'forward',
      answers: { 200: { about: 'the keys, by their ids', schema: KEYS } },
      handle: (_call, { journal: { fleet } }) => answer({ items: listKeys(countByKey(fleet, kinds), secrets) }),
    }),
    write({
      method: 'POST',
      path: '/api/v1/sealing-keys/reseal',
      tag: 'tokens',
      about: 'Seal secrets in documents by the current key that another one sealed',
      access: 'admin',
      answers: { 200: { about: 'how many were sealed anew, and how many are left', schema: RESEALED } },
      handle: (_call, { journal }) => {
        const [current] = secrets.keyIds();
        // Sealed before the decision, which may run again.
        const resealed = canReseal(journal.fleet) ? resealDocuments(journal.fleet, kinds, secrets, RESEALED_MAX) : [];
        return {
          why: 'seal secrets by the current key',
          // Refused inside the commit: a caller whose token has ended meanwhile learns nothing of the keys.
          decide: (fleet) => {
            if (!canReseal(fleet)) return refuse(refuseToSeal(listMissingKeys(countByKey(fleet, kinds), secrets)));
            const still = unchangedSince(fleet, resealed);
            const others = [...countByKey(fleet, kinds)].filter(([id]) => id !== current);
            const before = others.reduce((sum, [, count]) => sum + count, 0);
            const left = still.reduce((sum, one) => sum - one.secrets, before);
            const changes = still.map(({ kind, id, doc }) => put(kind, id, doc));
            return accept(changes, { resealed: still.length, left });
          },
          answer: ({ result: made }) => answer(made),
        };
      },
    }),
  ];
}

function listKeys(counts: ReadonlyMap<string, number>, secrets: Secrets): object[] {
  return [
    ...secrets
      .keyIds()
      .map((id, nth) => ({ id, use: nth === 0 ? 'current' : 'earlier', secrets: counts.get(id) ?? 0 })),
    ...listMissingKeys(counts, secrets).map((id) => ({ id, use: 'missing', secrets: counts.get(id) ?? 0 })),
  ];
}

function listMissingKeys(counts: ReadonlyMap<string, number>, secrets: Secrets): string[] {
  const own = secrets.keyIds();
  return [...counts.keys()].filter((id) => !own.includes(id)).sort();
}
