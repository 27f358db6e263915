// Secrets of tests: bound to their documents as real ones are, the same on each server, and sealed by no key at all.
import { Secret } from '../../src/access/index.ts';
import { damagedReason, type Secrets } from '../../src/keys/index.ts';

const KEY = '0'.repeat(16);

export const FAKE_SECRETS: Secrets = {
  keyIds: () => [KEY],
  seal: (owner, text) => ({ sealed: `sealed.${KEY}.${encode(`${owner.kind}/${owner.id}\n${text}`)}` }),
  unseal: (owner, sealed) => {
    const [place, text] = Buffer.from(sealed.split('.')[2] ?? '', 'base64url')
      .toString('utf8')
      .split('\n');
    const isOwn = place === `${owner.kind}/${owner.id}` && text !== undefined;
    return isOwn ? { kind: 'secret', secret: new Secret(text) } : { kind: 'failed', reason: damagedReason(owner) };
  },
};

function encode(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64url');
}
