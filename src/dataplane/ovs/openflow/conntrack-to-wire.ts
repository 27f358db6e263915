// Encodes connection tracking and address translation from text to wire.
import { NICIRA_ACTION, NO_TABLE } from './action-codes.ts';
import { beginNicira, endAction } from './action-frame.ts';
import { putIpv4, putIpv6 } from './addresses.ts';
import type { BytesWriter } from './bytes-writer.ts';
import { ALGS, CT_FLAG, NAT_FLAG, NAT_HAS } from './conntrack-codes.ts';
import type { PortNames } from './ports.ts';
import { split } from './split.ts';
import { BadFlowText } from './errors.ts';

export interface CtContext {
  readonly names: PortNames;
  /** For the actions in `exec(...)`. */
  readonly putActions: (writer: BytesWriter, text: string, names: PortNames) => void;
}

interface Ct {
  flags: number;
  table: number;
  zone: number;
  alg: number;
  nat: string | undefined;
  exec: string | undefined;
}

/** `text` is what is in the parentheses. */
export function putCt(writer: BytesWriter, text: string, { names, putActions }: CtContext): void {
  const ct = parse(text);
  const start = beginNicira(writer, NICIRA_ACTION.ct);
  writer.u16(ct.flags);
  writer.u32(0);
  writer.u16(ct.zone);
  writer.u8(ct.table);
  writer.zeros(3);
  writer.u16(ct.alg);
  if (ct.nat !== undefined) putNat(writer, ct.nat);
  if (ct.exec !== undefined) putActions(writer, ct.exec, names);
  endAction(writer, start);
}

function parse(text: string): Ct {
  const ct: Ct = { flags: 0, table: NO_TABLE, zone: 0, alg: 0, nat: undefined, exec: undefined };
  for (const piece of text === '' ? [] : split(text, text)) parseCtArgument(ct, piece, text);
  return ct;
}

function parseCtArgument(ct: Ct, piece: string, whole: string): void {
  if (piece === 'commit') ct.flags |= CT_FLAG.commit;
  else if (piece === 'force') ct.flags |= CT_FLAG.force;
  else if (piece.startsWith('table=')) ct.table = number(piece.slice(6), 254, whole);
  else if (piece.startsWith('zone=')) ct.zone = number(piece.slice(5), 0xffff, whole);
  else if (piece === 'nat') ct.nat = '';
  else if (piece.startsWith('nat(') && piece.endsWith(')')) ct.nat = piece.slice(4, -1);
  else if (piece.startsWith('exec(') && piece.endsWith(')')) ct.exec = piece.slice(5, -1);
  else if (piece.startsWith('alg=')) ct.alg = alg(piece.slice(4), whole);
  else throw new BadFlowText(`ct(${whole}) says "${piece}"`);
}

function number(text: string, most: number, whole: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > most) throw new BadFlowText(`"${text}" is not a number up to ${most}: ${whole}`);
  return value;
}

function alg(word: string, whole: string): number {
  const port = ALGS.get(word);
  if (port === undefined) throw new BadFlowText(`ct(${whole}) names a protocol that is not known`);
  return port;
}

interface Nat {
  flags: number;
  addresses: readonly string[];
  ports: readonly number[];
}

function putNat(writer: BytesWriter, text: string): void {
  const { flags, addresses, ports } = parseNat(text);
  const v6 = addresses[0]?.includes(':') === true;
  const start = beginNicira(writer, NICIRA_ACTION.nat);
  writer.zeros(2);
  writer.u16(flags);
  const [least, most] = v6 ? [NAT_HAS.ipv6Min, NAT_HAS.ipv6Max] : [NAT_HAS.ipv4Min, NAT_HAS.ipv4Max];
  const ofAddresses = [0, least, least | most][addresses.length] ?? 0;
  const ofPorts = [0, NAT_HAS.portMin, NAT_HAS.portMin | NAT_HAS.portMax][ports.length] ?? 0;
  writer.u16(ofAddresses | ofPorts);
  for (const address of addresses) (v6 ? putIpv6 : putIpv4)(writer, address);
  for (const port of ports) writer.u16(port);
  endAction(writer, start);
}

function parseNat(text: string): Nat {
  const nat: Nat = { flags: 0, addresses: [], ports: [] };
  for (const piece of text === '' ? [] : split(text, text)) {
    const [word = '', range] = piece.split('=');
    const flag = NAT_FLAG.get(word);
    if (flag === undefined) throw new BadFlowText(`nat(${text}) says "${piece}"`);
    nat.flags |= flag;
    if (range !== undefined) Object.assign(nat, natRange(range));
  }
  return nat;
}

const RANGE = /^(?:\[([^\]]+)\](?:-\[([^\]]+)\])?|([^-[\]]+?)(?:-([^-[\]]+?))?)(?::(\d+)(?:-(\d+))?)?$/;
/** Without brackets, what looks like a port is the end of an IPv6 address. */
const PLAIN_V6 = /^([^-[\].]*:[^-[\]]*:[^-[\]]*)(?:-([^-[\]]+))?$/;

function natRange(range: string): Pick<Nat, 'addresses' | 'ports'> {
  const [, only, end] = PLAIN_V6.exec(range) ?? [];
  if (only !== undefined) return { addresses: end === undefined ? [only] : [only, end], ports: [] };
  const [, v6, v6End, v4, v4End, port, portEnd] = RANGE.exec(range) ?? [];
  const addresses = [v6 ?? v4, v6End ?? v4End].filter((one) => one !== undefined);
  if (addresses.length === 0) throw new BadFlowText(`"${range}" is not a range of addresses`);
  const ports = [port, portEnd].flatMap((one) => (one === undefined ? [] : [number(one, 0xffff, range)]));
  return { addresses, ports };
}
