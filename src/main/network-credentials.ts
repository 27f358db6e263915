// The credentials of network back ends, from the file that the operator names. They stay in the memory of this process.
import { readFileSync } from 'node:fs';
import type { SecretMask } from '../access/index.ts';
import { parseCredentials, type Credentials } from '../network/index.ts';
import { StartFailure } from './start-failure.ts';

export function readNetworkCredentials(path: string | undefined, mask: SecretMask): Credentials {
  if (path === undefined) return new Map();
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new StartFailure(`--network-credentials ${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const read = parseCredentials(text);
  if ('problems' in read) throw new StartFailure(`--network-credentials ${path}: ${read.problems.join('; ')}.`);
  for (const { secret } of read.values()) mask.add(secret.reveal());
  return read;
}
