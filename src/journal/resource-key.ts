// Which resource: its kind and its id.

export type ResourceKey = readonly [kind: string, id: string];
