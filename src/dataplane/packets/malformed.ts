// Why octets are not the packet that a decoder expects. A value, never an exception: bad input from a network is not a bug.

export type MalformedCode =
  | 'truncated' // fewer octets than the header or a length in it says
  | 'bad-length' // a length that contradicts the rest
  | 'bad-version'
  | 'bad-checksum'
  | 'bad-option'
  | 'bad-hop-limit' // of neighbour discovery: a router forwarded it
  | 'bad-address' // an address that such a packet may not have
  | 'fragment'
  | 'extension-header'
  | 'other-protocol'; // perhaps a valid packet, of another kind

export interface Malformed {
  readonly malformed: MalformedCode;
}

export function malformedError(code: MalformedCode): Malformed {
  return { malformed: code };
}

export function isMalformed(decoded: object): decoded is Malformed {
  return 'malformed' in decoded;
}
