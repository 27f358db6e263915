// The secrets in documents: which key sealed them, and what a server can do with them. The keys themselves are in a file of each server and never here.
import { serviceKey } from '../composition/index.ts';
import { sealingKeyOf, type Seal, type Secret, type SecretOwner } from '../access/index.ts';
import { mapSealed, type FleetReader, type Id, type Kind, type Reason, type Refusal } from '../fleet/index.ts';
import type { ReasonSentences } from '../operations/index.ts';

export type Unsealed =
  { readonly kind: 'secret'; readonly secret: Secret } | { readonly kind: 'failed'; readonly reason: Reason };

/** What one server does with secrets: drivers open them, routes seal them. */
export interface Secrets {
  /** The ids of its keys; new secrets are sealed by the first. */
  readonly keyIds: () => readonly string[];
  readonly seal: Seal;
  readonly unseal: (owner: SecretOwner, sealed: string) => Unsealed;
}

/** Drivers and controllers open secrets by it. */
export const SECRETS = serviceKey<Secrets>('secrets');

/** A server without any key. */
export const NO_SECRETS: Secrets = {
  keyIds: () => [],
  seal: () => ({ refusal: refuseToSeal([]) }),
  unseal: (_owner, sealed) => ({ kind: 'failed', reason: missingKeyReason(sealed) }),
};

/** `needed`: the keys that sealed what is there, and that this server does not have. */
export function refuseToSeal(needed: readonly string[]): Refusal {
  const which =
    needed.length === 0
      ? 'This server has no key that seals secrets'
      : `The secrets of this fleet were sealed by key ${needed.join(' and ')}, which this server does not have`;
  const message = `${which}. Give it the key file (secret.key in its data folder, or --secret-key), and start it again. Nothing was changed.`;
  return { kind: 'conflict', code: 'secret-key-missing', message };
}

export function missingKeyReason(sealed: string): Reason {
  return { code: 'secret-key-missing', key: sealingKeyOf(sealed) ?? 'unknown' };
}

export function damagedReason({ kind, id }: SecretOwner): Reason {
  return { code: 'secret-damaged', kind, id };
}

export const secretSentences: ReasonSentences = {
  'secret-key-missing': ({ key }) =>
    `The server that holds the lease does not have key ${String(key)}, which a secret that is needed was sealed by. Give it the key file (secret.key in its data folder, or --secret-key), and start it again.`,
  'secret-damaged': ({ kind, id }) =>
    `The secret of ${String(kind)} ${String(id)} does not open: it was changed, or belongs to another document. Give the secret anew.`,
};

/** The kinds that have secrets. */
export function sealedKinds(kinds: Iterable<Kind<string, never>>): readonly Kind[] {
  return ([...kinds] as unknown as Kind[]).filter(({ sealedFields = [] }) => sealedFields.length > 0);
}

/** Adds how many secrets of a document were sealed by each key. */
export function countKeysIn({ sealedFields = [] }: Kind, doc: object, counts: Map<string, number>): void {
  mapSealed(doc, sealedFields, (sealed) => {
    const key = sealingKeyOf(sealed) ?? 'unknown';
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return sealed;
  });
}

/** How many secrets were sealed by each key. Costs O(documents of these kinds). */
export function countByKey(fleet: FleetReader, kinds: readonly Kind[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of kinds) for (const { doc } of fleet.all(kind)) countKeysIn(kind, doc, counts);
  return counts;
}

/** A document whose secrets were sealed anew, with the revision that they were read at. */
export interface ResealedDocument {
  readonly kind: Kind;
  readonly id: Id<string>;
  readonly revision: number;
  readonly doc: object;
  /** How many were sealed anew. */
  readonly secrets: number;
}

/** The first documents with secrets of other keys than the current one, each sealed anew. Those that do not open are left as they are. */
export function resealDocuments(
  fleet: FleetReader,
  kinds: readonly Kind[],
  secrets: Secrets,
  most: number,
): ResealedDocument[] {
  const resealed: ResealedDocument[] = [];
  for (const kind of kinds) {
    for (const { id, revision, doc } of fleet.all(kind)) {
      if (resealed.length === most) return resealed;
      const owner = { kind: kind.name, id };
      let count = 0;
      const next = mapSealed(doc, kind.sealedFields ?? [], (sealed) => {
        const anew = resealOne(secrets, owner, sealed);
        if (anew !== undefined) count += 1;
        return anew ?? sealed;
      });
      if (count > 0) resealed.push({ kind, id, revision, doc: next, secrets: count });
    }
  }
  return resealed;
}

function resealOne(secrets: Secrets, owner: SecretOwner, sealed: string): string | undefined {
  if (sealingKeyOf(sealed) === secrets.keyIds()[0]) return undefined;
  const opened = secrets.unseal(owner, sealed);
  if (opened.kind === 'failed') return undefined;
  const made = secrets.seal(owner, opened.secret.reveal());
  return 'refusal' in made ? undefined : made.sealed;
}

/** Of these, the ones that have not changed since. */
export function unchangedSince(fleet: FleetReader, resealed: readonly ResealedDocument[]): readonly ResealedDocument[] {
  return resealed.filter(({ kind, id, revision }) => fleet.get(kind, id)?.revision === revision);
}
