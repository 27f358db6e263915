// The neighbours that a switch knows for its tunnels, as `tnl/neigh/show` prints them.

export interface Neighbour {
  readonly address: string;
  readonly mac: string;
  readonly bridge: string;
}

const LINE = /^([0-9a-fA-F:.]+)\s+((?:[0-9a-f]{2}:){5}[0-9a-f]{2})\s+(\S+)\s*$/;

/** The heading and its underline are no neighbours, and neither is anything else of another form. */
export function parseNeighbours(text: string): Neighbour[] {
  return text.split('\n').flatMap((line) => {
    const [, address, mac, bridge] = LINE.exec(line) ?? [];
    return address === undefined || mac === undefined || bridge === undefined ? [] : [{ address, mac, bridge }];
  });
}
