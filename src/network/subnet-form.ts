// The form of a subnet: what follows from its CIDR when nothing else is said. The gateway is the first address, the pools
// are everything that is neither special nor the gateway.
import { isSpecial } from './addresses.ts';
import type { Range } from './free-ranges.ts';
import { formatIp, type Cidr, type IpVersion } from './ip.ts';
import type { Subnet } from './model.ts';

const BITS: Readonly<Record<IpVersion, number>> = { 4: 32, 6: 128 };

/** The first address that a host may have; none in a prefix of one or two addresses, where every one is needed. */
export function defaultGateway({ version, first, prefix }: Cidr): string | undefined {
  return BITS[version] - prefix < 2 ? undefined : formatIp({ version, value: first + 1n });
}

/** All that may be given out, around the gateway. */
export function defaultPools(cidr: Cidr, gateway: bigint | undefined): Subnet['pools'] {
  const { version } = cidr;
  const first = isSpecial(cidr, { version, value: cidr.first }) ? cidr.first + 1n : cidr.first;
  const last = isSpecial(cidr, { version, value: cidr.last }) ? cidr.last - 1n : cidr.last;
  const parts: Range[] =
    gateway === undefined
      ? [{ first, last }]
      : [
          { first, last: gateway - 1n },
          { first: gateway + 1n, last },
        ];
  return parts
    .filter((part) => part.first <= part.last)
    .map((part) => ({
      first: formatIp({ version, value: part.first }),
      last: formatIp({ version, value: part.last }),
    }));
}
