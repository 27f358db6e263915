// Decodes connection tracking and address translation from wire to text.
import { NO_TABLE } from './action-codes.ts';
import { readIpv4, readIpv6 } from './addresses.ts';
import type { BytesReader } from './bytes-reader.ts';
import { ALGS, CT_FLAG, NAT_FLAG, NAT_HAS } from './conntrack-codes.ts';
import { fieldBitsText } from './field-bits.ts';
import { fieldByCode } from './fields.ts';
import { ProtocolError } from './errors.ts';

/** Reads what follows the subtype. Of the nested actions, translation is written first. */
export function ctText(reader: BytesReader, actionsOf: (reader: BytesReader) => string[]): string {
  const flags = reader.u16();
  const [zoneField, zone, table] = [reader.u32(), reader.u16(), reader.u8()];
  reader.skip(3);
  const alg = reader.u16();
  const inside = actionsOf(reader);
  const nat = inside[0]?.startsWith('nat') === true ? inside.slice(0, 1) : [];
  const exec = inside.slice(nat.length);
  return `ct(${[
    ...(flags & CT_FLAG.commit ? ['commit'] : []),
    ...(flags & CT_FLAG.force ? ['force'] : []),
    ...(table === NO_TABLE ? [] : [`table=${table}`]),
    ...(zoneField === 0 ? (zone === 0 ? [] : [`zone=${zone}`]) : [`zone=${zoneOf(zoneField, zone)}`]),
    ...nat,
    ...(exec.length === 0 ? [] : [`exec(${exec.join(',')})`]),
    ...(alg === 0 ? [] : [`alg=${algOf(alg)}`]),
  ].join(',')})`;
}

function zoneOf(header: number, bits: number): string {
  const field = fieldByCode(header >>> 9);
  if (field === undefined) throw new ProtocolError('a zone in a field that is not known');
  return fieldBitsText({ field, from: bits >> 6, count: (bits & 63) + 1 });
}

function algOf(port: number): string {
  return [...ALGS].find(([, number]) => number === port)?.[0] ?? `${port}`;
}

/** Reads what follows the subtype. */
export function natText(reader: BytesReader): string {
  reader.skip(2);
  const [flags, has] = [reader.u16(), reader.u16()];
  const [min, max] = [address(reader, has & NAT_HAS.ipv4Min, has & NAT_HAS.ipv6Min)].concat(
    address(reader, has & NAT_HAS.ipv4Max, has & NAT_HAS.ipv6Max),
  );
  const port = has & NAT_HAS.portMin ? reader.u16() : undefined;
  const portMax = has & NAT_HAS.portMax ? reader.u16() : undefined;
  const addBrackets = (one: string): string => (port !== undefined && one.includes(':') ? `[${one}]` : one);
  const addresses = [min, max === min ? undefined : max].flatMap((one) =>
    one === undefined ? [] : [addBrackets(one)],
  );
  const ports = [port, portMax === port ? undefined : portMax].filter((one) => one !== undefined);
  const range = [addresses.join('-'), ...(ports.length === 0 ? [] : [ports.join('-')])].join(':');
  const words = [...NAT_FLAG].flatMap(([word, flag]) => {
    if ((flags & flag) === 0) return [];
    return [(word === 'src' || word === 'dst') && range !== '' ? `${word}=${range}` : word];
  });
  return words.length === 0 ? 'nat' : `nat(${words.join(',')})`;
}

function address(reader: BytesReader, v4: number, v6: number): string | undefined {
  return v4 > 0 ? readIpv4(reader) : v6 > 0 ? readIpv6(reader) : undefined;
}
