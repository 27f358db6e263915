// An instance that is a network namespace instead of a machine: which commands make one and plug it in, and which take it away.
// Only the words of the commands are here; whoever runs them decides what to do about one that fails.

/** A program and its arguments; none of them has a space in it. */
export type NamespaceCommand = readonly string[];

export interface NamespaceNic {
  /** The end that the host's switch gets. */
  readonly hostSide: string;
  /** The end that the instance has: `eth0`. */
  readonly name: string;
  readonly mac: string;
  /** With their prefix: `10.0.0.11/24`, `fd00::11/64`. None when the instance is to request them. */
  readonly addresses: readonly string[];
  /** Where everything else goes: at most one of each version. */
  readonly gateways: readonly string[];
}

export interface NamespaceInstance {
  readonly namespace: string;
  /** Where the switch of the host has its interfaces; undefined for the namespace that the commands are run in. */
  readonly hostNamespace: string | undefined;
  readonly nics: readonly NamespaceNic[];
}

/** Its namespace is the machine's own. */
const FIRST_PROCESS = '1';
/** Leaves room for the header of a tunnel in a frame of 1500 bytes. */
const MTU_BYTES = 1400;

/** Names of one host's instances begin with the name of its namespace: whoever clears up after the host finds them by it. */
export function instanceNamespace(hostNamespace: string, instance: string): string {
  return `${hostNamespace}-${instance}`;
}

export function plugCommands(machine: NamespaceInstance): readonly NamespaceCommand[] {
  const { namespace, nics } = machine;
  return [
    ['ip', 'netns', 'add', namespace],
    ['ip', '-n', namespace, 'link', 'set', 'lo', 'up'],
    ...nics.flatMap((nic) => nicCommands(machine, nic)),
  ];
}

/** The pairs of interfaces go with the namespace, but only after a while: they are taken away first. */
export function unplugCommands(machine: NamespaceInstance): readonly NamespaceCommand[] {
  const links = machine.nics.map((nic) => ipCommand(machine.hostNamespace, 'link', 'del', nic.hostSide));
  return [...links, ['ip', 'netns', 'del', machine.namespace]];
}

function nicCommands(machine: NamespaceInstance, nic: NamespaceNic): NamespaceCommand[] {
  const { namespace, hostNamespace } = machine;
  const here = (...words: readonly string[]): NamespaceCommand => ipCommand(namespace, ...words);
  return [
    here('link', 'add', nic.hostSide, 'type', 'veth', 'peer', 'name', nic.name),
    here('link', 'set', nic.name, 'address', nic.mac, 'mtu', String(MTU_BYTES), 'up'),
    // Addresses are given out once: a second of duplicate address detection would find nothing.
    ...nic.addresses.map((address) =>
      here('addr', 'add', address, 'dev', nic.name, ...(isIpv6(address) ? ['nodad'] : [])),
    ),
    ...nic.gateways.map((gateway) => here('route', 'add', 'default', 'via', gateway, 'dev', nic.name)),
    disableOffloadsCommand(namespace, nic.hostSide),
    disableOffloadsCommand(namespace, nic.name),
    // All at once, at the end: whenever a link of its namespace changes, a switch in user space does not know its routes for
    // a moment, and packets of others are lost when it looks for them right then. The host itself has no business on this line: it
    // would talk to its neighbours by IPv6.
    here('link', 'set', nic.hostSide, 'addrgenmode', 'none', 'netns', hostNamespace ?? FIRST_PROCESS, 'up'),
  ];
}

/** A switch in user space would pass on what the kernel left for a network card to finish. */
export function disableOffloadsCommand(namespace: string | undefined, link: string): NamespaceCommand {
  const ethtool = ['ethtool', '-K', link, 'tx', 'off', 'tso', 'off', 'gso', 'off', 'gro', 'off'];
  return namespace === undefined ? ethtool : ['ip', 'netns', 'exec', namespace, ...ethtool];
}

function ipCommand(namespace: string | undefined, ...words: readonly string[]): NamespaceCommand {
  return namespace === undefined ? ['ip', ...words] : ['ip', '-n', namespace, ...words];
}

function isIpv6(address: string): boolean {
  return address.includes(':');
}
