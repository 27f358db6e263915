// Validates a host's answer about ports that it bound itself. A host may only report this instance's ports whose back end is outside the journal,
// with addresses of the chosen pool that no other port has.
import { Type, type Static } from 'typebox';
import { compileChecker, idOf, type FleetReader } from '../../fleet/index.ts';
import { canonicalizeAddresses, PORT, stockOf, SUBNET, type PortAnswer } from '../../network/index.ts';
import type { Instance } from '../model.ts';
import { segmentOf } from '../back-end-orders.ts';
import { isInline } from './placement.ts';

const REPORTED_PORTS = Type.Array(
  Type.Object({
    port: Type.String({ maxLength: 200 }),
    mac: Type.Optional(Type.String({ pattern: '^[0-9a-f]{2}(:[0-9a-f]{2}){5}$' })),
    type: Type.Optional(Type.String({ maxLength: 100 })),
    addresses: Type.Optional(
      Type.Array(Type.Object({ ip: Type.String({ maxLength: 50 }), subnet: Type.String({ maxLength: 200 }) }), {
        maxItems: 16,
      }),
    ),
  }),
  { maxItems: 32 },
);

const problemsOf = compileChecker(REPORTED_PORTS);

export type ReportedPorts = { readonly ports: readonly PortAnswer[] } | { readonly problem: string };

export function validateReportedPorts(fleet: FleetReader, instance: Instance, facts: unknown): ReportedPorts {
  if (facts === undefined) return { ports: [] };
  const [wrong] = problemsOf(facts);
  if (wrong !== undefined) return { problem: `The host's answer is invalid: ${wrong.field} ${wrong.message}` };
  const ports: PortAnswer[] = [];
  for (const one of facts as Static<typeof REPORTED_PORTS>) {
    const port = fleet.get(PORT, idOf(PORT, one.port));
    const nic = instance.nics.findIndex(({ port: id }) => id === one.port);
    if (port === undefined || nic < 0)
      return { problem: `The host reports port "${one.port}", which does not belong to this instance.` };
    // The journal decides on these, whatever a host reports.
    if (isInline(fleet, port.doc)) continue;
    const addresses = canonicalizeAddresses(one.addresses ?? []);
    if (addresses === undefined) return { problem: `The host reports an invalid address of port "${one.port}".` };
    const pool = instance.attempts.at(-1)?.pools[nic] ?? '';
    const foreign = addresses.find(
      (address) => !canHaveAddress(fleet, { port: one.port, network: port.doc.network, pool }, address),
    );
    if (foreign !== undefined)
      return { problem: `The host may not give port "${one.port}" the address ${foreign.ip}.` };
    const { mac, type } = one;
    ports.push({
      port: one.port,
      outcome: 'ok',
      addresses,
      ...(mac !== undefined && { mac }),
      ...(type !== undefined && { type }),
    });
  }
  return { ports };
}

interface ReportedPlace {
  readonly port: string;
  readonly network: string;
  readonly pool: string;
}

function canHaveAddress(
  fleet: FleetReader,
  { port, network, pool }: ReportedPlace,
  { ip, subnet }: { ip: string; subnet: string },
): boolean {
  const on = fleet.get(SUBNET, idOf(SUBNET, subnet))?.doc;
  if (on?.network !== network || on.segment !== segmentOf(pool)) return false;
  const holder = stockOf(fleet).holderOf(subnet, ip);
  return holder === undefined || holder === port;
}
