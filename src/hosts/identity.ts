// Which host somebody means. Operators type names; controllers, switches and inventories use ids of their own. Every form
// leads to the same host, whether it is connected or not, and after it was removed as long as nobody else has the form.
import type { FleetReader } from '../fleet/index.ts';
import type { StoredHost } from './decide.ts';
import { HOSTS_BY_IDENTITY } from './model.ts';

/** With a site, hosts of other sites are as unknown as those that do not exist. */
export function resolveHost(fleet: FleetReader, form: string, site?: string): StoredHost | undefined {
  const wanted = usualForm(form);
  const forms = wanted === form ? [form] : [form, wanted];
  const found = forms.flatMap((one) => [...fleet.find(HOSTS_BY_IDENTITY, one)]);
  const [best] = found
    .filter(({ doc }) => site === undefined || doc.site === site)
    .sort((one, other) => rank(one, form) - rank(other, form) || (one.id < other.id ? -1 : 1));
  return best;
}

/** The lowest is meant: one that is there before one that is gone, its own name before another's id, a trusted one first. */
function rank({ doc }: StoredHost, form: string): number {
  const gone = doc.state === 'removed' ? 4 : 0;
  const otherwise = doc.name === form ? 0 : 2;
  return gone + otherwise + (doc.quarantined === undefined ? 0 : 1);
}

const HEX = /^(?:0x)?[0-9a-f]{16}$/i;
const COLONS = /^(?:[0-9a-f]{2}:){7}[0-9a-f]{2}$/i;
const INVENTORY = /^openflow:(\d{1,30})$/;
const TOPOLOGY = /^ovsdb:\/\/uuid\/([0-9a-f-]{36})\/bridge\/br-int$/i;

/** As hosts are filed: digits in lower case, numbers without leading zeros. All 64 bits count, so no number is made of them. */
function usualForm(form: string): string {
  if (HEX.test(form)) return form.toLowerCase().replace(/^0x/, '');
  if (COLONS.test(form)) return form.toLowerCase().replaceAll(':', '');
  const decimal = INVENTORY.exec(form)?.[1];
  if (decimal !== undefined) return `openflow:${BigInt(decimal)}`;
  const uuid = TOPOLOGY.exec(form)?.[1];
  return uuid === undefined ? form : `ovsdb://uuid/${uuid.toLowerCase()}/bridge/br-int`;
}
