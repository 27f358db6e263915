// The numbers of connection tracking on the wire.

export const CT_FLAG = { commit: 1, force: 2 } as const;

export const NAT_FLAG: ReadonlyMap<string, number> = new Map([
  ['src', 1],
  ['dst', 2],
  ['persistent', 4],
  ['hash', 8],
  ['random', 16],
]);

/** Which parts of a range follow. */
export const NAT_HAS = { ipv4Min: 1, ipv4Max: 2, ipv6Min: 4, ipv6Max: 8, portMin: 16, portMax: 32 } as const;

/** By the well-known port of their protocol. */
export const ALGS: ReadonlyMap<string, number> = new Map([
  ['ftp', 21],
  ['tftp', 69],
]);
