// Every document of a store, parsed. It must never hand on a fleet of which the store says, or the text shows, that it is
// damaged: whoever works with it would write the damage on.
import type { Registry, Stored } from '../fleet/index.ts';
import { StoreDamaged, type Damage } from './damage.ts';
import type { Position, Store } from './store.ts';
import { parseIntact, toStored } from './document-text.ts';

interface SnapshotSource {
  readonly store: Store;
  readonly registry: Registry;
}

export async function loadSnapshot(
  { store, registry }: SnapshotSource,
  take: (kind: string, stored: Stored) => void,
): Promise<Position> {
  const unreadable: Damage[] = [];
  // Such as an unknown kind, or a migration that throws: what the store says of damage explains it better.
  let failed: { readonly error: unknown } | undefined;
  const { damage, ...position } = await store.snapshot((page) => {
    for (const resource of page) {
      const { kind, id, revision, body } = resource;
      const parsed = parseIntact(body);
      if (parsed === undefined) unreadable.push({ kind: 'document', resource: [kind, id], revision });
      else failed ??= catchFailure(() => take(kind, toStored(registry, resource, parsed)));
    }
  });
  // What has a digest is named by the store already.
  if (damage.length > 0) throw new StoreDamaged(damage, position.revision);
  if (unreadable.length > 0) throw new StoreDamaged(unreadable, position.revision);
  if (failed !== undefined) throw failed.error;
  return position;
}

function catchFailure(work: () => void): { readonly error: unknown } | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return { error };
  }
}
