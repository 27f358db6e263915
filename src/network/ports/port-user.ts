// Ports that give a router or a floating address its external address.
import type { Refusal } from '../../fleet/index.ts';
import type { Port } from '../model.ts';
import { conflict } from '../refusal.ts';

/** A port that is used in place of an instance: it must not be deleted, attached, or made a target. */
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
  const message = `Port "${id}" provides the external address of ${who}. ${how}`;
  return conflict('port-used', message, { field, facts: { port: id, [kind]: user } });
}
