// How Muster gets to the API of a cluster and proves itself there. Secrets print as nothing, and are taken out of whatever a peer repeats.
import { Type, type Static } from 'typebox';
import { compileChecker } from '../../../fleet/index.ts';
import type { Cluster } from '../../model.ts';

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
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  return problemsOf(content).length === 0 ? (content as ClusterCredentials) : undefined;
}

/** Shorter ones are in many a harmless text. */
const MASKED_MIN = 6;

/** A text of a peer, without the secrets that it may repeat. */
export function maskSecrets(text: string, credentials: ClusterCredentials | undefined): string {
  return secretsOf(credentials)
    .filter((secret) => secret.length >= MASKED_MIN)
    .reduce((masked, secret) => masked.replaceAll(secret, '[secret]'), text);
}

function secretsOf(credentials: ClusterCredentials | undefined): string[] {
  switch (credentials?.kind) {
    case 'token':
      return [credentials.token];
    case 'password':
      return [credentials.password, Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')];
    case 'certificate':
      return [credentials.key, Buffer.from(credentials.key).toString('base64')];
    case undefined:
      return [];
  }
}
