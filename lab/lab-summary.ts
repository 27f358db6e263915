// A lab that is up, as it is shown to whoever started it.
import type { LabInstance } from './lab-instance.ts';
import { OUTSIDE } from './underlay/names.ts';
import type { Underlay } from './underlay/underlay.ts';

export interface LabSummary {
  readonly id: string;
  readonly folder: string;
  readonly outside: { readonly namespace: string; readonly address: string; readonly address6: string };
  readonly hosts: readonly {
    readonly name: string;
    readonly namespace: string;
    readonly tunnelAddress: string;
    readonly database: string;
    readonly control: string;
  }[];
  readonly instances: readonly {
    readonly name: string;
    readonly namespace: string;
    readonly addresses: readonly string[];
  }[];
  readonly server?: { readonly url: string; readonly data: string };
}

export interface RunningLab {
  readonly underlay: Underlay;
  readonly machines: readonly LabInstance[];
  readonly muster?: { readonly url: string; readonly data: string } | undefined;
}

export function summarizeLab({ underlay, machines, muster }: RunningLab): LabSummary {
  const { id, folder, external } = underlay.names;
  return {
    id,
    folder,
    outside: { namespace: external, address: OUTSIDE.address, address6: OUTSIDE.address6 },
    hosts: underlay.hosts.map(({ names: { name, namespace, tunnelAddress, database, control } }) => ({
      name,
      namespace,
      tunnelAddress,
      database,
      control,
    })),
    instances: machines.map(({ name, namespace, nics }) => ({
      name,
      namespace,
      addresses: nics.flatMap(({ addresses }) => addresses),
    })),
    ...(muster !== undefined && { server: { url: muster.url, data: muster.data } }),
  };
}

export function renderSummary({ id, folder, outside, hosts, instances, server }: LabSummary): string {
  const [host] = hosts;
  const instance = instances[0]?.namespace ?? `${host?.namespace}-INSTANCE`;
  const rows: readonly (readonly [string, string])[] = [
    ['everything of the lab', folder],
    ...hosts.map(
      ({ name, namespace, tunnelAddress }) => [name, `namespace ${namespace}, tunnels at ${tunnelAddress}`] as const,
    ),
    ...instances.map(
      ({ name, namespace, addresses }) => [name, `namespace ${namespace}, ${addresses.join(' ')}`] as const,
    ),
    ['outside', `namespace ${outside.namespace}, ${outside.address} ${outside.address6}`],
    ['enter a host', `ip netns exec ${host?.namespace} bash`],
    ['enter an instance', `ip netns exec ${instance} bash`],
    ['look at its flows', `ovs-ofctl --names -O OpenFlow14 dump-flows unix:${folder}/${host?.name}/br-int.mgmt`],
    ['ask its switch', `ovs-vsctl --db=${host?.database} show; ovs-appctl -t ${host?.control} dpctl/dump-conntrack`],
    ...(server === undefined
      ? []
      : [['ask Muster', `muster --server ${server.url} --data ${server.data} hosts list`] as const]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    `lab ${id} is up; Ctrl-C ends it`,
    ...rows.map(([name, what]) => `  ${name.padEnd(width)}  ${what}`),
    '',
  ].join('\n');
}
