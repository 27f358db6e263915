// What is on the integration bridge of a host, by ovs-ofctl.
import type { LabHost } from '../underlay/host.ts';
import type { Contents } from './compare.ts';
import { flowsIn, groupsIn } from './dump.ts';

export async function readHost(host: LabHost, bridge = 'br-int'): Promise<Contents> {
  return {
    flows: flowsIn(await host.ofctl('dump-flows', bridge)),
    groups: groupsIn(await host.ofctl('dump-groups', bridge)),
  };
}
