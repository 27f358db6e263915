// Interfaces on a host's bridge that belong to nothing in its view or its instances. They are reported, never touched. Pure.
import { isOurCookie } from './derived-ids.ts';
import { EXTERNAL_PORT, TUNNEL_PORT } from './tables.ts';
import type { Flow } from './switch.ts';
import { portNamesIn } from './flow-syntax.ts';

export interface Bridge {
  /** The interfaces that are plugged in, beside those of the switch itself. */
  readonly interfaces: readonly string[];
  readonly flows: readonly Flow[];
}

/** `explained`: the interfaces of known instances, whether they should run here or not. */
export function findStrayPorts({ interfaces, flows }: Bridge, explained: ReadonlySet<string>): string[] {
  const strange = interfaces.filter((name) => !explained.has(name));
  const known = new Set([...explained, ...strange, ...[EXTERNAL_PORT, TUNNEL_PORT].map(unquote)]);
  const named = flows
    .filter(({ cookie }) => !isOurCookie(cookie))
    .flatMap(({ match, actions }) => [...portNamesIn(match), ...portNamesIn(actions)].map(unquote))
    .filter((name) => !known.has(name));
  return [...strange.map((name) => `interface/${name}`), ...[...new Set(named)].map((name) => `flow-port/${name}`)];
}

function unquote(quoted: string): string {
  return quoted.slice(1, -1);
}
