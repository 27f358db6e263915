// Parses `--listen`: host:port, [v6]:port, :port or a port alone.
import type { ListenAddress } from '../api/runtime.ts';
import { StartFailure } from './start-failure.ts';

const LOOPBACK = '127.0.0.1';
const PORT_MAX = 65_535;

export function parseListenAddress(text: string): ListenAddress {
  const [, bracketed, plain, digits] = /^(?:(?:\[([^\]]+)\]|([^:]*)):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > PORT_MAX) {
    throw new StartFailure(`"${text}" is not an address to listen on. Write it like 127.0.0.1:7070 or [::1]:7070.`);
  }
  return { host: bracketed ?? (plain === undefined || plain === '' ? LOOPBACK : plain), port };
}
