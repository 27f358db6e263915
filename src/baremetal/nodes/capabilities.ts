// Capabilities as inventories write them, `k1:v1,k2:v2`. Malformed items are skipped, and said.

export interface NodeCapabilities {
  readonly values: ReadonlyMap<string, string>;
  /** One sentence for each item that was skipped. */
  readonly warnings: readonly string[];
}

const NONE: NodeCapabilities = { values: new Map(), warnings: [] };

/** The first item of a name counts. A value may contain colons, and may be empty. */
export function parseCapabilities(text: string | undefined): NodeCapabilities {
  if (text === undefined || text.trim() === '') return NONE;
  const values = new Map<string, string>();
  const warnings: string[] = [];
  for (const item of text.split(',')) {
    const colon = item.indexOf(':');
    const name = item.slice(0, Math.max(0, colon)).trim();
    if (colon === -1) warnings.push(`The capability "${item.trim()}" has no colon and is skipped. Write name:value.`);
    else if (name === '')
      warnings.push(`The capability "${item.trim()}" has no name and is skipped. Write name:value.`);
    else if (values.has(name)) warnings.push(`The capability "${name}" is there twice: the first one counts.`);
    else values.set(name, item.slice(colon + 1).trim());
  }
  return { values, warnings };
}
