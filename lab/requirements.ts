// What the machine must have for a lab; said before anything is made.
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';

const PROGRAMS = [
  ['ovs-vswitchd', 'openvswitch-switch'],
  ['ovsdb-server', 'openvswitch-switch'],
  ['ip', 'iproute2'],
  ['ethtool', 'ethtool'],
] as const;
const OVN_PROGRAMS = [
  ['ovn-northd', 'ovn-central'],
  ['ovn-controller', 'ovn-host'],
] as const;
const FOLDERS = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Undefined when a lab can be started here. */
export async function checkLabRequirements(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'The lab makes network namespaces: run it as root.';
  return checkPrograms('The lab', PROGRAMS);
}

/** Undefined when OVN can be measured beside Muster here. */
export function checkOvnRequirements(): Promise<string | undefined> {
  return checkPrograms('Measuring OVN', OVN_PROGRAMS);
}

async function checkPrograms(
  what: string,
  programs: typeof PROGRAMS | typeof OVN_PROGRAMS,
): Promise<string | undefined> {
  const there = await Promise.all(programs.map(([program]) => isInstalled(program)));
  const missing = programs.filter((_, index) => there[index] !== true);
  if (missing.length === 0) return undefined;
  const packages = [...new Set(missing.map(([, name]) => name))];
  return `${what} needs ${missing.map(([program]) => program).join(', ')}. On Debian: apt-get install ${packages.join(' ')}`;
}

async function isInstalled(program: string): Promise<boolean> {
  const found = await Promise.allSettled(FOLDERS.map((folder) => access(join(folder, program), constants.X_OK)));
  return found.some(({ status }) => status === 'fulfilled');
}
