// What everything of a lab is called, and its addresses. All of it follows from the lab's id and the number of a host, so that a
// lab can be cleared away by whoever knows its id.

export interface LabNames {
  readonly id: string;
  /** Every namespace of the lab begins with it, those of instances too. */
  readonly prefix: string;
  /** Short: names of unix sockets have at most 107 bytes. */
  readonly folder: string;
  /** Namespaces. */
  readonly underlay: string;
  readonly external: string;
}

export interface HostNames {
  /** From 1. */
  readonly number: number;
  readonly name: string;
  readonly namespace: string;
  readonly folder: string;
  /** Where its ovsdb-server listens. */
  readonly database: string;
  /** Where its ovs-vswitchd takes commands. */
  readonly control: string;
  readonly tunnelAddress: string;
  readonly tunnelMac: string;
  /** Its ends in the shared namespaces. */
  readonly underlayLink: string;
  readonly externalLink: string;
}

export const RUN_FOLDERS = '/tmp';
const FOLDER_NAME = /^mu-([a-z0-9]{4})$/;
const NAMESPACE_NAME = /^mu([a-z0-9]{4})-/;

/** The network outside: one machine, which the lab has in a namespace. */
export const OUTSIDE = {
  bridge: 'xb0',
  mac: '02:ee:00:00:00:01',
  address: '198.51.100.1',
  address6: '2001:db8:ff::1',
} as const;

export const UNDERLAY_BRIDGE = 'ul0';
export const TUNNEL_BRIDGE = 'br-phy';
export const UNDERLAY_INTERFACE = 'eth0';
export const EXTERNAL_INTERFACE = 'ext0';
/** One network for all hosts, however many there are. */
export const TUNNEL_PREFIX = 16;
export const TUNNEL_NETWORK = `172.16.0.0/${TUNNEL_PREFIX}`;
const HOSTS_PER_OCTET = 250;
export const HOSTS_MAX = HOSTS_PER_OCTET * 250;

export function labNames(id: string): LabNames {
  const prefix = `mu${id}-`;
  return { id, prefix, folder: `${RUN_FOLDERS}/mu-${id}`, underlay: `${prefix}ul`, external: `${prefix}ext` };
}

/** The id in the name of a run folder. */
export function idOfFolder(name: string): string | undefined {
  return FOLDER_NAME.exec(name)?.[1];
}

export function idOfNamespace(name: string): string | undefined {
  return NAMESPACE_NAME.exec(name)?.[1];
}

export function hostNames(lab: LabNames, number: number): HostNames {
  const name = `h${number}`;
  const folder = `${lab.folder}/${name}`;
  const high = Math.floor((number - 1) / HOSTS_PER_OCTET);
  const low = ((number - 1) % HOSTS_PER_OCTET) + 1;
  return {
    number,
    name,
    namespace: `${lab.prefix}${name}`,
    folder,
    database: `unix:${folder}/db.sock`,
    control: `${folder}/vs.ctl`,
    tunnelAddress: `172.16.${high}.${low}`,
    tunnelMac: `02:bb:00:00:${hex(high)}:${hex(low)}`,
    underlayLink: `u${number}`,
    externalLink: `x${number}`,
  };
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}
