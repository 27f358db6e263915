// Which addresses are in a subnet.
import { contains, parseCidr, parseIp } from '../../network/index.ts';

export function subnetMatcher(cidr: string): (ip: string) => boolean {
  const subnet = parseCidr(cidr);
  return (ip) => {
    const address = subnet === undefined ? undefined : parseIp(ip);
    return subnet !== undefined && address !== undefined && contains(subnet, address);
  };
}
