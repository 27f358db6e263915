// What is on the bridge of a host and belongs to nothing that its view or its instances account for. It is told, never touched. Pure.
import { isOurCookie } from './derived-ids.ts';
import { EXTERNAL_PORT, TUNNEL_PORT } from './tables.ts';
import type { Flow } from './switch.ts';
import { portNamesIn } from './flow-syntax.ts';

export interface Bridge {
  /** What is plugged in, beside what the switch itself is made of. */
  readonly interfaces: readonly string[];
  readonly flows: readonly Flow[];
}

/** `explained`: the interfaces of instances that are known, whether they should be there or not. */
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
