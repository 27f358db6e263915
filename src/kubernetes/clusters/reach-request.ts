// How a request says that machines of new workers are reached. What is wrong with it is said by field, and without quoting it.
import { Type, type Static } from 'typebox';
import { strictObject } from '../../access/index.ts';
import type { Refusal } from '../../fleet/index.ts';
import { SCRIPT_LENGTH_MAX } from '../join/model.ts';
import { SSH_CREDENTIALS_SCHEMA, SSH_KEY_LENGTH_MAX, type SshCredentials } from '../machines/ssh/credentials.ts';
import { parseHostKeyLine } from '../machines/ssh/known-hosts.ts';
import { CLUSTER_SCHEMA, DRAIN_POLICY_SCHEMA, JOIN_ENDPOINT, REACHES, SSH_SCHEMA, type SshAccess } from '../model.ts';

const KUBECONFIG_MAX = 200_000;

export const KUBECONFIG_TEXT = Type.String({
  maxLength: KUBECONFIG_MAX,
  description: 'as text, with everything inside; its secrets are kept sealed',
});
export const KUBECONFIG_CONTEXT = Type.String({
  maxLength: 500,
  description: 'of the kubeconfig; its current one unless said',
});

const { user, port, sudo, hostKeys, knownHosts } = SSH_SCHEMA.properties;
const { password } = SSH_CREDENTIALS_SCHEMA.anyOf[1].properties;
const { whenHostLeaves, drainsAtOnce } = CLUSTER_SCHEMA.properties;
const { deadlineMs, evictBare, keepEmptyDir } = DRAIN_POLICY_SCHEMA.properties;

const SSH = strictObject({
  user: Type.Optional(user),
  port: Type.Optional(port),
  sudo: Type.Optional(Type.Union([sudo, Type.Literal(false)], { description: 'the script is run by sudo -n' })),
  address: Type.Optional(
    Type.Union([Type.String({ minLength: 1, maxLength: 253 }), Type.Null()], {
      description: 'in place of the address of the first NIC; {node} in it is the name of the Node; null for the NIC',
    }),
  ),
  hostKeys: Type.Optional(hostKeys),
  knownHosts: Type.Optional(knownHosts),
  key: Type.Optional(
    Type.String({ maxLength: SSH_KEY_LENGTH_MAX, description: 'a private key as OpenSSH or PEM; it is kept sealed' }),
  ),
  passphrase: Type.Optional(password),
  password: Type.Optional(password),
});
type SshRequest = Static<typeof SSH>;

export const CLUSTER_EDIT = strictObject({
  kubeconfig: Type.Optional(KUBECONFIG_TEXT),
  context: Type.Optional(KUBECONFIG_CONTEXT),
  reach: Type.Optional(Type.Enum(REACHES)),
  ssh: Type.Optional(SSH),
  workerScript: Type.Optional(
    Type.Union([Type.String({ minLength: 1, maxLength: SCRIPT_LENGTH_MAX }), Type.Null()], {
      description: 'what bash runs on machines, with install, join or leave; null for the one that comes with Muster',
    }),
  ),
  joinEndpoint: Type.Optional(
    Type.Union([JOIN_ENDPOINT, Type.Null()], { description: 'null for what the cluster publishes' }),
  ),
  drainPolicy: Type.Optional(
    strictObject({
      deadlineMs: Type.Optional(deadlineMs),
      evictBare: Type.Optional(evictBare),
      keepEmptyDir: Type.Optional(keepEmptyDir),
    }),
  ),
  whenHostLeaves: Type.Optional(whenHostLeaves),
  drainsAtOnce: Type.Optional(drainsAtOnce),
});
export type ClusterEditRequest = Static<typeof CLUSTER_EDIT>;

/** What becomes of the access that a cluster has; what is absent stays. */
export interface SshEdit extends Partial<Omit<SshAccess, 'address' | 'sudo'>> {
  readonly address?: string | null;
  readonly sudo?: boolean;
}

export type Sealing = (text: string) => { readonly sealed: string } | { readonly refusal: Refusal };

/** Credentials are sealed here: they are nowhere after this. */
export function composeSshEdit(request: SshRequest, seal: Sealing): SshEdit | Refusal {
  const { key, passphrase, password: secret, ...fields } = request;
  const wrongLine = fields.knownHosts?.findIndex((line) => parseHostKeyLine(line) === undefined) ?? -1;
  if (wrongLine >= 0) return refuseHostKey(wrongLine);
  const credentials = composeCredentials({ key, passphrase, password: secret });
  if (credentials === undefined) return fields;
  if ('code' in credentials) return credentials;
  const sealed = seal(JSON.stringify(credentials));
  if ('refusal' in sealed) return sealed.refusal;
  return { ...fields, proof: credentials.kind, credentials: sealed.sealed };
}

type Proof = Record<'key' | 'passphrase' | 'password', string | undefined>;

function composeCredentials({ key, passphrase, password: secret }: Proof): SshCredentials | Refusal | undefined {
  if (key !== undefined && secret !== undefined) {
    const message = 'Muster proves itself by a key or by a password. Give one of them.';
    return { kind: 'invalid', code: 'two-ssh-proofs', message, field: '/ssh/password' };
  }
  if (secret !== undefined) return { kind: 'password', password: secret };
  if (key === undefined) return passphrase === undefined ? undefined : refusePassphrase();
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(key)) {
    const message = 'This is no private key of OpenSSH or in PEM form. Give the content of the file without ".pub".';
    return { kind: 'invalid', code: 'ssh-key-malformed', message, field: '/ssh/key' };
  }
  return { kind: 'key', key, ...(passphrase !== undefined && { passphrase }) };
}

function refusePassphrase(): Refusal {
  const message = 'A passphrase is of a key. Give the key with it.';
  return { kind: 'invalid', code: 'passphrase-without-key', message, field: '/ssh/passphrase' };
}

function refuseHostKey(nth: number): Refusal {
  const message =
    'This is no host key that can be pinned. Give lines as "ssh-keyscan HOST" writes them, or as of a file ssh_host_*_key.pub: without hashed names (ssh-keyscan without -H), @markers and DSA keys.';
  return { kind: 'invalid', code: 'host-key-malformed', message, field: `/ssh/knownHosts/${nth}` };
}
