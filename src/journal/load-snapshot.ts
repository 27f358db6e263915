// Every document of a store, parsed. It must never hand on a fleet of which the store says, or the text shows, that it is
// damaged: decisions on it would write the damage into new commits.
import type { Stored } from '../fleet/index.ts';
import { StoreDamaged, type Damage } from './damage.ts';
import type { Position, StoredResource, Store } from './store.ts';
import { toStored } from './document-text.ts';

export async function loadSnapshot(store: Store, take: (kind: string, stored: Stored) => void): Promise<Position> {
  const unreadable: Damage[] = [];
  // Such as an unknown kind: the damage that the store reports explains it better.
  let failed: { readonly error: unknown } | undefined;
  const { damage, ...position } = await store.snapshot((page) => {
    for (const resource of page) {
      const stored = parseResource(resource);
      if (stored !== undefined) failed ??= catchFailure(() => take(resource.kind, stored));
      else unreadable.push({ kind: 'document', resource: [resource.kind, resource.id], revision: resource.revision });
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

function parseResource(resource: StoredResource): Stored | undefined {
  try {
    return toStored(resource);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
