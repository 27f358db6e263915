// A kubeconfig as text: written with everything inside, and read for one cluster and one user.
import { parse, stringify } from 'yaml';

/** The credentials of a user. An anonymous user has neither. */
export interface KubeUser {
  readonly token?: string;
  readonly certificate?: string;
  readonly key?: string;
}

export interface KubeAccess {
  /** As `https://127.0.0.1:6443`. */
  readonly endpoint: string;
  /** PEM; undefined when the machine's own authorities are trusted. */
  readonly ca?: string | undefined;
  readonly skipsVerification?: boolean;
  readonly user: KubeUser;
}

export function kubeconfigOf({ endpoint, ca, skipsVerification, user }: KubeAccess): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [
      {
        name: 'test',
        cluster: {
          server: endpoint,
          ...(ca !== undefined && { 'certificate-authority-data': encode(ca) }),
          ...(skipsVerification === true && { 'insecure-skip-tls-verify': true }),
        },
      },
    ],
    users: [
      {
        name: 'test',
        user: {
          ...(user.token !== undefined && { token: user.token }),
          ...(user.certificate !== undefined && { 'client-certificate-data': encode(user.certificate) }),
          ...(user.key !== undefined && { 'client-key-data': encode(user.key) }),
        },
      },
    ],
  });
}

interface KubeconfigDocument {
  readonly 'current-context': string;
  readonly contexts: readonly { name: string; context: { cluster: string; user: string } }[];
  readonly clusters: readonly { name: string; cluster: Readonly<Record<string, string | boolean | undefined>> }[];
  readonly users: readonly { name: string; user: Readonly<Record<string, string | undefined>> }[];
}

/** Of its current context. Files are not read: `kubectl config view --flatten --minify --raw` puts everything inside. */
export function readKubeconfig(text: string): KubeAccess {
  const document = parse(text) as KubeconfigDocument;
  const context = document.contexts.find(({ name }) => name === document['current-context'])?.context;
  const cluster = document.clusters.find(({ name }) => name === context?.cluster)?.cluster;
  const user = document.users.find(({ name }) => name === context?.user)?.user;
  if (typeof cluster?.['server'] !== 'string') throw new Error('the kubeconfig names no server');
  const ca = cluster['certificate-authority-data'];
  const certificate = user?.['client-certificate-data'];
  const key = user?.['client-key-data'];
  return {
    endpoint: cluster['server'].replace(/\/$/, ''),
    ca: typeof ca === 'string' ? decode(ca) : undefined,
    skipsVerification: cluster['insecure-skip-tls-verify'] === true,
    user: {
      ...(user?.['token'] !== undefined && { token: user['token'] }),
      ...(certificate !== undefined && { certificate: decode(certificate) }),
      ...(key !== undefined && { key: decode(key) }),
    },
  };
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

function decode(text: string): string {
  return Buffer.from(text, 'base64').toString();
}
