// Resolves an id to a host. Operators use names; controllers, switches and inventories use ids of their own. Every form resolves to the same
// host, connected or not, and also after its removal while no other host has the form.
import type { FleetReader } from '../fleet/index.ts';
import type { StoredHost } from './decide.ts';
import { HOSTS_BY_IDENTITY } from './model.ts';

export type HostMatch =
  | { readonly kind: 'host'; readonly host: StoredHost }
  | { readonly kind: 'unknown' }
  /** Several hosts have this id, and none of them comes first. */
  | { readonly kind: 'ambiguous'; readonly names: readonly string[] };

/** With a site, hosts of other sites are as unknown as those that do not exist. */
export function matchHost(fleet: FleetReader, form: string, site?: string): HostMatch {
  const wanted = usualForm(form);
  const forms = wanted === form ? [form] : [form, wanted];
  const found = new Map(forms.flatMap((one) => [...fleet.find(HOSTS_BY_IDENTITY, one)]).map((host) => [host.id, host]));
  const ranked = [...found.values()]
    .filter(({ doc }) => site === undefined || doc.site === site)
    .map((host) => ({ host, rank: rank(host, form) }));
  const best = Math.min(...ranked.map((one) => one.rank));
  const [first, ...others] = ranked.filter((one) => one.rank === best).map(({ host }) => host);
  if (first === undefined) return { kind: 'unknown' };
  if (others.length === 0) return { kind: 'host', host: first };
  return { kind: 'ambiguous', names: [first, ...others].map(({ id }): string => id).sort() };
}

/** The host with this id, if there is exactly one. */
export function resolveHost(fleet: FleetReader, form: string, site?: string): StoredHost | undefined {
  const match = matchHost(fleet, form, site);
  return match.kind === 'host' ? match.host : undefined;
}

/** The lowest rank wins: a living host before a removed one, its own name before another's id, a trusted host first. */
function rank({ doc }: StoredHost, form: string): number {
  const removedRank = doc.state === 'removed' ? 4 : 0;
  const otherwise = doc.name === form ? 0 : 2;
  return removedRank + otherwise + (doc.quarantined === undefined ? 0 : 1);
}

const HEX = /^(?:0x)?[0-9a-f]{16}$/i;
const COLONS = /^(?:[0-9a-f]{2}:){7}[0-9a-f]{2}$/i;
const INVENTORY = /^openflow:(\d{1,30})$/;
const TOPOLOGY = /^ovsdb:\/\/uuid\/([0-9a-f-]{36})\/bridge\/br-int$/i;

/** As the index keys are written: digits in lower case, numbers without leading zeros. All 64 bits count, so never convert to number. */
function usualForm(form: string): string {
  if (HEX.test(form)) return form.toLowerCase().replace(/^0x/, '');
  if (COLONS.test(form)) return form.toLowerCase().replaceAll(':', '');
  const decimal = INVENTORY.exec(form)?.[1];
  if (decimal !== undefined) return `openflow:${BigInt(decimal)}`;
  const uuid = TOPOLOGY.exec(form)?.[1];
  return uuid === undefined ? form : `ovsdb://uuid/${uuid.toLowerCase()}/bridge/br-int`;
}
