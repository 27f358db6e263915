// The tunnel neighbours of a switch, as `tnl/neigh/show` prints them.

export interface Neighbour {
  readonly address: string;
  readonly mac: string;
  readonly bridge: string;
}

const LINE = /^([0-9a-fA-F:.]+)\s+((?:[0-9a-f]{2}:){5}[0-9a-f]{2})\s+(\S+)\s*$/;

/** Skips the heading, its underline, and any other line that is no neighbour. */
export function parseNeighbours(text: string): Neighbour[] {
  return text.split('\n').flatMap((line) => {
    const [, address, mac, bridge] = LINE.exec(line) ?? [];
    return address === undefined || mac === undefined || bridge === undefined ? [] : [{ address, mac, bridge }];
  });
}
