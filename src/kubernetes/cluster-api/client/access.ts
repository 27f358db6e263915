// How Muster gets to the API of a cluster and proves itself there. Secrets print as nothing, and are taken out of whatever a peer repeats.
import { Type, type Static } from 'typebox';
import { SecretMask } from '../../../access/index.ts';
import { compileChecker } from '../../../fleet/index.ts';
import type { Cluster } from '../../model.ts';
import { parseSealedText } from '../../sealed-text.ts';

const CLOSED = { additionalProperties: false };
const SECRET = Type.String({ minLength: 1, maxLength: 20_000 });

/** What is kept sealed of a cluster. */
export const CREDENTIALS_SCHEMA = Type.Union([
  Type.Object({ kind: Type.Literal('token'), token: SECRET }, CLOSED),
  Type.Object({ kind: Type.Literal('certificate'), certificate: SECRET, key: SECRET }, CLOSED),
  Type.Object({ kind: Type.Literal('password'), user: Type.String({ maxLength: 300 }), password: SECRET }, CLOSED),
]);
export type ClusterCredentials = Static<typeof CREDENTIALS_SCHEMA>;

export interface ClusterAccess extends Pick<
  Cluster,
  'name' | 'endpoint' | 'caCertificate' | 'tlsServerName' | 'skipTlsVerify'
> {
  readonly credentials?: ClusterCredentials;
}

const problemsOf = compileChecker(CREDENTIALS_SCHEMA);

/** Undefined when the text is none of them: sealed by something else. */
export function parseClusterCredentials(text: string): ClusterCredentials | undefined {
  return parseSealedText(text, problemsOf) as ClusterCredentials | undefined;
}

/** Takes them out of what a peer says: it may repeat them. */
export function maskOf(credentials: ClusterCredentials | undefined): SecretMask {
  const mask = new SecretMask();
  for (const secret of secretsOf(credentials)) mask.add(secret);
  return mask;
}

function secretsOf(credentials: ClusterCredentials | undefined): string[] {
  switch (credentials?.kind) {
    case 'token':
      return [credentials.token];
    case 'password':
      return [credentials.password, `${credentials.user}:${credentials.password}`];
    case 'certificate':
      return [credentials.key];
    case undefined:
      return [];
  }
}
