// The tracked connections of a switch, as `dpctl/dump-conntrack -s` prints them. `reply` is what an answer looks like on the wire: with
// source translation its destination is the external address.

export interface PortTuple {
  readonly src: string;
  readonly dst: string;
  readonly sport: number;
  readonly dport: number;
}

export interface EchoTuple {
  readonly src: string;
  readonly dst: string;
  readonly id: number;
  readonly type: number;
  readonly code: number;
}

interface ConntrackMeta {
  readonly zone: number;
  readonly timeoutS?: number;
  readonly mark?: number;
}

export type ConntrackEntry = ConntrackMeta &
  (
    | { readonly protocol: 'udp'; readonly original: PortTuple; readonly reply: PortTuple }
    /** `state` such as `ESTABLISHED`. */
    | { readonly protocol: 'tcp'; readonly original: PortTuple; readonly reply: PortTuple; readonly state?: string }
    | { readonly protocol: 'icmp' | 'icmpv6'; readonly original: EchoTuple; readonly reply: EchoTuple }
    /** `sctp`, or the number of a protocol without ports. */
    | { readonly protocol: 'other'; readonly name: string; readonly original: PortTuple; readonly reply: PortTuple }
  );

export interface ConntrackDump {
  readonly entries: readonly ConntrackEntry[];
  /** Lines that could not be parsed: their connections are not among the entries. */
  readonly unreadable: readonly string[];
}

export function parseConntrack(text: string): ConntrackDump {
  const entries: ConntrackEntry[] = [];
  const unreadable: string[] = [];
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const entry = parseLine(line.trim());
    if (entry === undefined) unreadable.push(line);
    else entries.push(entry);
  }
  return { entries, unreadable };
}

type Fields = ReadonlyMap<string, string>;

/** `udp,orig=(src=…,…),reply=(…),zone=7,timeout=58`: fields, some of which are lists of fields. */
const FIELD = /([^,=()]+)(?:=(?:\(([^()]*)\)|([^,()]*)))?(?:,|$)/y;

function parseLine(line: string): ConntrackEntry | undefined {
  const read = readFields(line);
  const protocol = read?.keys().next().value;
  if (read === undefined || protocol === undefined) return undefined;
  const original = readInner(read.get('orig'));
  const reply = readInner(read.get('reply'));
  const zone = asNumber(read.get('zone') ?? '0', 65_535);
  if (original === undefined || reply === undefined || zone === undefined) return undefined;
  return withTuples(protocol, { original, reply, state: stateOf(read) }, readMeta(read, zone));
}

/** Undefined when the text is not a list of fields. The first field of a line has no value. */
function readFields(text: string): Fields | undefined {
  const fields = new Map<string, string>();
  FIELD.lastIndex = 0;
  while (FIELD.lastIndex < text.length) {
    const [, key, inner, value] = FIELD.exec(text) ?? [];
    if (key === undefined) return undefined;
    if (!fields.has(key)) fields.set(key, inner ?? value ?? '');
  }
  return fields;
}

function readInner(text: string | undefined): Fields | undefined {
  return text === undefined ? undefined : readFields(text);
}

function readMeta(read: Fields, zone: number): ConntrackMeta {
  const timeoutS = asNumber(read.get('timeout'), Number.MAX_SAFE_INTEGER);
  const mark = asNumber(read.get('mark'), 0xffff_ffff);
  return { zone, ...(timeoutS !== undefined && { timeoutS }), ...(mark !== undefined && { mark }) };
}

/** With `-m` each direction has a state of its own; this is the original one. */
function stateOf(read: Fields): string | undefined {
  const info = readInner(read.get('protoinfo'));
  return info?.get('state') ?? info?.get('state_orig');
}

interface Parts {
  readonly original: Fields;
  readonly reply: Fields;
  readonly state: string | undefined;
}

function withTuples(protocol: string, { state, ...parts }: Parts, rest: ConntrackMeta): ConntrackEntry | undefined {
  if (protocol === 'icmp' || protocol === 'icmpv6') {
    const [original, reply] = [echoTuple(parts.original), echoTuple(parts.reply)];
    return original && reply && { protocol, original, reply, ...rest };
  }
  const [original, reply] = [portTuple(parts.original), portTuple(parts.reply)];
  if (original === undefined || reply === undefined) return undefined;
  if (protocol === 'udp') return { protocol, original, reply, ...rest };
  if (protocol === 'tcp') return { protocol, original, reply, ...(state !== undefined && { state }), ...rest };
  return { protocol: 'other', name: protocol, original, reply, ...rest };
}

/** A protocol without ports has none in some versions and zeros in others. */
function portTuple(fields: Fields): PortTuple | undefined {
  const ends = endsOf(fields);
  const sport = asNumber(fields.get('sport') ?? '0', 65_535);
  const dport = asNumber(fields.get('dport') ?? '0', 65_535);
  if (ends === undefined || sport === undefined || dport === undefined) return undefined;
  return { ...ends, sport, dport };
}

function echoTuple(fields: Fields): EchoTuple | undefined {
  const ends = endsOf(fields);
  const id = asNumber(fields.get('id'), 65_535);
  const type = asNumber(fields.get('type'), 255);
  const code = asNumber(fields.get('code'), 255);
  if (ends === undefined || id === undefined || type === undefined || code === undefined) return undefined;
  return { ...ends, id, type, code };
}

const ADDRESS = /^[0-9a-fA-F:.]+$/;

function endsOf(fields: Fields): { readonly src: string; readonly dst: string } | undefined {
  const [src, dst] = [fields.get('src'), fields.get('dst')];
  if (src === undefined || dst === undefined || !ADDRESS.test(src) || !ADDRESS.test(dst)) return undefined;
  return { src, dst };
}

function asNumber(text: string | undefined, max: number): number | undefined {
  if (text === undefined || !/^(?:\d+|0x[0-9a-f]+)$/.test(text)) return undefined;
  const number = Number(text);
  return number <= max ? number : undefined;
}
