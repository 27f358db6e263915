// The fields of a request that the command line sets. The others are left out: the server has their defaults.

export function omitUndefined<F extends object>(fields: F): { readonly [N in keyof F]?: Exclude<F[N], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [N in keyof F]?: Exclude<F[N], undefined> };
}
