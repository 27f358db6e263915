// What of a request was said on the command line. The rest is left out: it is the server's to say.

export function omitUndefined<F extends object>(fields: F): { readonly [N in keyof F]?: Exclude<F[N], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [N in keyof F]?: Exclude<F[N], undefined> };
}
