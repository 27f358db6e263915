// A bootstrap token before the cluster has it: its id and its secret are drawn, and the secret is sealed, before the decision that stores them.
import type { Refusal } from '../../fleet/index.ts';
import type { Ids } from '../../journal/index.ts';
import type { NewBootstrapToken } from './decide.ts';

const TOKEN_ID_LENGTH = 6;
const TOKEN_SECRET_LENGTH = 16;

/** As Kubernetes takes it: small letters and digits. */
export function composeToken(
  ids: Ids,
  seal: (secret: string) => { readonly sealed: string } | { readonly refusal: Refusal },
): NewBootstrapToken | Refusal {
  const secret = toTokenCharacters(ids.secret() + ids.secret()).slice(0, TOKEN_SECRET_LENGTH);
  const sealed = seal(secret);
  if ('refusal' in sealed) return sealed.refusal;
  return { id: toTokenCharacters(ids.next('token')).slice(-TOKEN_ID_LENGTH), sealedSecret: sealed.sealed };
}

function toTokenCharacters(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}
