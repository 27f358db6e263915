// Ports that a router or a floating address has its address from.
import type { Refusal } from '../../fleet/index.ts';
import type { Port } from '../model.ts';
import { conflict } from '../refusal.ts';

/** A port that something has in place of an instance: it is not deleted, attached or pointed at. */
export function portUserProblem(
  { id, doc }: { readonly id: string; readonly doc: Port },
  field?: string,
): Refusal | undefined {
  if (doc.usedBy === undefined) return undefined;
  const { kind, id: user } = doc.usedBy;
  const [who, how] =
    kind === 'router'
      ? [`router "${user}"`, `Clear its external network, or delete it, with "muster routers".`]
      : [`floating address "${user}"`, `Delete that with "muster floating-addresses delete ${user}".`];
  const message = `Port "${id}" is where ${who} has its address from. ${how}`;
  return conflict('port-used', message, { field, facts: { port: id, [kind]: user } });
}
