// A port as the API shows it, and as people read it.
import type { ChangeInfo } from '../resource-commands.ts';

export interface Port extends ChangeInfo {
  readonly name?: string;
  readonly network: string;
  readonly project: string;
  readonly createdBy: string;
  readonly state: string;
  readonly mac: string;
  readonly instance?: string;
  readonly nic?: number;
  readonly tag?: string;
  readonly usedBy?: { readonly kind: string; readonly id: string };
  readonly ipAllocation: string;
  readonly addresses: readonly { readonly ip: string; readonly subnet: string; readonly chosenBy: string }[];
  readonly binding?: {
    readonly host: string;
    readonly serial: number;
    readonly segment?: string;
    readonly type: string;
  };
  readonly portSecurity: boolean;
  readonly securityGroups: readonly string[];
  readonly qosPolicy?: string;
  readonly minBandwidthKbps?: number;
  readonly pciRequest?: string;
  readonly dnsName?: string;
}

/** Its addresses, or why it has none. */
export function addressesText({ addresses, ipAllocation }: Port): string | undefined {
  if (addresses.length > 0) return addresses.map(({ ip }) => ip).join(', ');
  return ipAllocation === 'immediate' ? undefined : ipAllocation;
}

/** `compute-1, segment rack-a`. */
export function bindingText({ binding }: Port): string | undefined {
  if (binding === undefined) return undefined;
  return binding.segment === undefined ? binding.host : `${binding.host}, segment ${binding.segment}`;
}
