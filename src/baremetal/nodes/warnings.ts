// What of a node's description means nothing. It is accepted, since inventories write such things, and shown with the node.
import { parseCapabilities } from '../matching/capabilities.ts';
import type { Node } from '../model.ts';

/** One sentence for each. */
export function findWarnings({ capabilities }: Pick<Node, 'capabilities'>): string[] {
  if (capabilities === undefined || capabilities === '') return [];
  const { values, malformed } = parseCapabilities(capabilities);
  const skipped = malformed.map((item) => `The capability "${item}" is skipped: write it as name:value.`);
  const repeated = capabilities.split(',').length - malformed.length - values.size;
  if (repeated <= 0) return skipped;
  return [...skipped, 'A capability is there more than once: the first of its values counts. Leave the others out.'];
}
