// JSON of an object that ends with a checksum of what stands before it. Programs of older versions read it as well, and wrote
// it without the checksum.
import { hash } from 'node:crypto';

const SEAL = /,?"sha256":"([0-9a-f]{64})"\}$/;

export function sealJson(value: object): string {
  const body = JSON.stringify(value);
  const comma = body === '{}' ? '' : ',';
  return `${body.slice(0, -1)}${comma}"sha256":"${checksumOf(body)}"}`;
}

/** The text without its checksum; undefined when that is wrong. */
export function unsealJson(text: string): string | undefined {
  const sealed = SEAL.exec(text);
  if (sealed === null) return text;
  const body = `${text.slice(0, sealed.index)}}`;
  return sealed[1] === checksumOf(body) ? body : undefined;
}

function checksumOf(text: string): string {
  return hash('sha256', text, 'hex');
}
