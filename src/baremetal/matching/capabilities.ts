// What a node says of itself in words: its capabilities, as inventories write them (`k1:v1,k2:v2`), and its resource class. Malformed items are
// skipped here and shown as warnings where the node is shown: one bad item must not take a node out of service.

export interface NodeCapabilities {
  readonly values: ReadonlyMap<string, string>;
  /** Items that were skipped. */
  readonly malformed: readonly string[];
}

const NO_CAPABILITIES: NodeCapabilities = { values: new Map(), malformed: [] };

/** The first of several items with one key counts. */
export function parseCapabilities(text: string | undefined): NodeCapabilities {
  if (text === undefined || text.trim() === '') return NO_CAPABILITIES;
  const values = new Map<string, string>();
  const malformed: string[] = [];
  for (const item of text.split(',')) {
    const colon = item.indexOf(':');
    const key = item.slice(0, Math.max(colon, 0)).trim();
    if (key === '') malformed.push(item.trim());
    else if (!values.has(key)) values.set(key, item.slice(colon + 1).trim());
  }
  return { values, malformed };
}

const UNTRUE = new Set(['', '0', 'false', 'no', 'off']);

export function isTruthy(value: string): boolean {
  return !UNTRUE.has(value.toLowerCase());
}

/** Upper case, each run of other characters one `_`. */
function customName(name: string): string {
  return `CUSTOM_${name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}`;
}

/** The name under which requests have a node's resource class: "baremetal.with-GPU" is CUSTOM_BAREMETAL_WITH_GPU. */
export function customClassOf(resourceClass: string): string {
  return customName(resourceClass);
}

/** The trait that stands for a capability on nodes that do not have it: "has_gpu" is CUSTOM_HAS_GPU. */
export function customTraitOf(capability: string): string {
  return customName(capability);
}
