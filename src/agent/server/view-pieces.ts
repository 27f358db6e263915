// The text of a view that is as large as the fleet, in pieces: the same as of a small one.
import { jsonPieces, LazyList } from '../../access/index.ts';
import type { ViewResponse } from '../protocol/messages.ts';

export function viewPieces(found: ViewResponse & { readonly kind: 'view' }): Iterable<string> {
  const { view } = found;
  const parts = Object.entries(view.parts).map(([name, part]) => [
    name,
    Array.isArray(part) ? new LazyList(part as readonly unknown[]) : part,
  ]);
  return jsonPieces({ ...found, view: { ...view, parts: Object.fromEntries(parts) as object } });
}
