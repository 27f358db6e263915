// Where a caller may send its secret. Plain HTTP goes to this machine only, unless the operator insists; nothing leads from
// HTTPS to HTTP; and a server is found by its origin, never by how its name begins.
import { isLoopback } from './loopback.ts';

/** Scheme, host and port; the text itself for what is no URL, such as the name of a server in the same process. */
export function originOf(server: string): string {
  const url = URL.parse(server);
  return url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') ? server : url.origin;
}

export type Transport = 'https' | 'http-to-loopback' | 'http' | 'none';

export function transportTo(server: string): Transport {
  const url = URL.parse(server);
  if (url?.protocol === 'https:') return 'https';
  if (url?.protocol !== 'http:') return 'none';
  return isLoopback(url.hostname) ? 'http-to-loopback' : 'http';
}

/** Whether a server that was called at the first address may redirect the caller to the second. */
export function isDowngrade(from: string, to: string): boolean {
  return transportTo(from) === 'https' && transportTo(to) !== 'https';
}
