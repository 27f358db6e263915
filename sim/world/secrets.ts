// Secrets in documents, in the simulation: readable, and bound to their documents all the same. Sealing itself has suites of its own.
import { Secret } from '../../src/access/index.ts';
import { damagedReason, type Secrets } from '../../src/keys/index.ts';

const KEY = '0000000000000000';
const LENGTH_MIN = 38;

/** In letters that a sealed secret may have. */
function encode(text: string): string {
  return Buffer.from(text).toString('base64url');
}

export const SIM_SECRETS: Secrets = {
  keyIds: () => [KEY],
  seal: ({ kind, id }, text) => ({
    sealed: `sealed.${KEY}.${encode(JSON.stringify([kind, id, text]).padEnd(LENGTH_MIN))}`,
  }),
  unseal: (owner, sealed) => {
    const [kind, id, text] = JSON.parse(Buffer.from(sealed.split('.')[2] ?? '', 'base64url').toString()) as string[];
    if (kind !== owner.kind || id !== owner.id) return { kind: 'failed', reason: damagedReason(owner) };
    return { kind: 'secret', secret: new Secret(text ?? '') };
  },
};
