// Host keys as lines of known_hosts: which of them a machine may prove itself by. Names that are hashed cannot be read here, and a line with them is refused where it is given.

export interface HostKey {
  readonly type: string;
  /** As the line has it: base64. */
  readonly blob: string;
}

interface HostKeyLine extends HostKey {
  /** Patterns; absent where the key is of every machine. */
  readonly hosts?: readonly string[];
}

const KEY_TYPES: readonly string[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
];
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const SSH_PORT = 22;

/** `ssh-ed25519 AAAA… [comment]`, with the names of machines before it or without. */
export function parseHostKeyLine(line: string): HostKeyLine | undefined {
  const words = line.trim().split(/\s+/);
  const at = KEY_TYPES.includes(words[0] ?? '') ? 0 : 1;
  const [type = '', blob = ''] = words.slice(at);
  if (!KEY_TYPES.includes(type) || !BASE64.test(blob) || typeInside(blob) !== type) return undefined;
  if (at === 0) return { type, blob };
  const [hosts = ''] = words;
  // Markers (@revoked, @cert-authority) would change what the line means.
  if (hosts.startsWith('@') || hosts.startsWith('|')) return undefined;
  return { type, blob, hosts: hosts.split(',') };
}

/** A key says its own type. */
function typeInside(blob: string): string | undefined {
  return readHostKey(Buffer.from(blob, 'base64'))?.type;
}

export function readHostKey(bytes: Buffer): HostKey | undefined {
  const LENGTH_BYTES = 4;
  if (bytes.length < LENGTH_BYTES) return undefined;
  const end = LENGTH_BYTES + bytes.readUInt32BE(0);
  if (end > bytes.length) return undefined;
  return { type: bytes.subarray(LENGTH_BYTES, end).toString('latin1'), blob: bytes.toString('base64') };
}

/** Those of the lines that are of this machine. */
export function findHostKeys(lines: readonly string[], host: string, port: number): HostKey[] {
  return lines.flatMap((line) => {
    const parsed = parseHostKeyLine(line);
    if (parsed === undefined) return [];
    const { type, blob, hosts } = parsed;
    return hosts === undefined || matchesHost(hosts, host, port) ? [{ type, blob }] : [];
  });
}

/** As OpenSSH does: `host`, `[host]:port` for another port, `*` and `?`, and `!` for all but. */
function matchesHost(patterns: readonly string[], host: string, port: number): boolean {
  const name = (port === SSH_PORT ? host : `[${host}]:${port}`).toLowerCase();
  const matches = (pattern: string): boolean => globOf(pattern).test(name);
  const isExcluded = patterns.some((one) => one.startsWith('!') && matches(one.slice(1)));
  return !isExcluded && patterns.some((one) => !one.startsWith('!') && matches(one));
}

function globOf(pattern: string): RegExp {
  const escaped = pattern.toLowerCase().replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`);
}

export function isSameKey(one: HostKey, other: HostKey): boolean {
  return one.type === other.type && stripPadding(one.blob) === stripPadding(other.blob);
}

function stripPadding(blob: string): string {
  return blob.replace(/=+$/, '');
}

/** Signatures of SHA-1 are not among them. */
const SIGNATURES: Readonly<Record<string, readonly string[]>> = { 'ssh-rsa': ['rsa-sha2-512', 'rsa-sha2-256'] };

/** The order in which host keys are negotiated: first those that are known of the machine, so that it does not show another one of its own. */
export function orderHostKeyAlgorithms(known: readonly HostKey[]): string[] {
  const types = new Set([...known.map(({ type }) => type), ...KEY_TYPES]);
  return [...types].flatMap((type) => SIGNATURES[type] ?? [type]);
}
