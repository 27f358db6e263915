// Reads how a cluster is reached out of a kubeconfig. Everything has to be inside: files and programs that it names are of the machine that it was written on. What is
// wrong with it is said without quoting it.
import { Type } from 'typebox';
import { compileChecker, type Refusal } from '../../fleet/index.ts';
import { parseSecretDocument } from '../../network/index.ts';
import type { ClusterAccess, ClusterCredentials } from '../cluster-api/client/access.ts';

const TEXT = Type.Optional(Type.String({ maxLength: 30_000 }));
const NAMED = { name: Type.String({ minLength: 1, maxLength: 500 }) };
const OPEN = { additionalProperties: true };

const KUBECONFIG = Type.Object(
  {
    'current-context': TEXT,
    contexts: Type.Array(
      Type.Object({ ...NAMED, context: Type.Object({ cluster: Type.String(), user: TEXT }, OPEN) }, OPEN),
    ),
    clusters: Type.Array(
      Type.Object(
        {
          ...NAMED,
          cluster: Type.Object(
            {
              server: Type.String(),
              'certificate-authority': TEXT,
              'certificate-authority-data': TEXT,
              'tls-server-name': TEXT,
              'insecure-skip-tls-verify': Type.Optional(Type.Boolean()),
              'proxy-url': TEXT,
            },
            OPEN,
          ),
        },
        OPEN,
      ),
    ),
    users: Type.Optional(
      Type.Array(
        Type.Object(
          {
            ...NAMED,
            user: Type.Object(
              {
                token: TEXT,
                tokenFile: TEXT,
                'client-certificate': TEXT,
                'client-certificate-data': TEXT,
                'client-key': TEXT,
                'client-key-data': TEXT,
                username: TEXT,
                password: TEXT,
              },
              OPEN,
            ),
          },
          OPEN,
        ),
      ),
    ),
  },
  OPEN,
);

interface KubeUser {
  readonly [field: string]: unknown;
  readonly token?: string;
  readonly username?: string;
  readonly password?: string;
}

interface KubeCluster {
  readonly [field: string]: unknown;
  readonly server: string;
}

interface Kubeconfig {
  readonly 'current-context'?: string;
  readonly contexts: readonly { readonly name: string; readonly context: { cluster: string; user?: string } }[];
  readonly clusters: readonly { readonly name: string; readonly cluster: KubeCluster }[];
  readonly users?: readonly { readonly name: string; readonly user: KubeUser }[];
}

const problemsOf = compileChecker(KUBECONFIG);
const FIELD = '/kubeconfig';
/**
 * What `kubectl config view --minify --flatten --raw` writes has a few hundred characters that are neither letters, digits nor base64. The parser takes time with the square
 * of such characters: with this many at most a tenth of a second, with a text full of them the lease would be lost.
 */
const SIGNS_MAX = 10_000;
const SIGN = /[^A-Za-z0-9+/=]/g;
const URL_FORM = /^https?:\/\/[^/\s?#]+(?:\/[^\s?#]*)?$/;
const BASE64 = /^[A-Za-z0-9+/=\s]+$/;
const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/;

export interface KubeconfigReading {
  /** The named one; the current one when absent. */
  readonly context?: string | undefined;
  /** Whether a host is this machine itself. */
  readonly isLoopback: (host: string) => boolean;
}

/** Of one context. */
export function parseKubeconfig(
  text: string,
  { context: wanted, isLoopback }: KubeconfigReading,
): Omit<ClusterAccess, 'name'> | Refusal {
  if (text.replaceAll(SIGN, '').length < text.length - SIGNS_MAX)
    return refuseForm('it is longer than one context takes');
  const document = parseSecretDocument(text);
  if (document.problems !== undefined || problemsOf(document.content).length > 0) return refuseForm();
  const config = document.content as Kubeconfig;
  const name = wanted ?? config['current-context'] ?? config.contexts[0]?.name;
  const context = config.contexts.find((one) => one.name === name)?.context;
  if (context === undefined) return refuseContext(name, config);
  const cluster = config.clusters.find((one) => one.name === context.cluster)?.cluster;
  if (cluster === undefined) return refuseForm(`its context "${name}" names a cluster that is not in it`);
  const user = config.users?.find((one) => one.name === context.user)?.user ?? {};
  return refuseOutside(cluster, user) ?? composeAccess(cluster, user, isLoopback);
}

/** What is not inside. */
function refuseOutside(cluster: KubeCluster, user: KubeUser): Refusal | undefined {
  if (user['exec'] !== undefined || user['auth-provider'] !== undefined) {
    const message =
      'The kubeconfig gets its credentials from a program (exec or auth-provider), which the control plane does not run. Make a ServiceAccount with a token of its own, and use a kubeconfig with that.';
    return { kind: 'invalid', code: 'kubeconfig-runs-program', message, field: FIELD };
  }
  const files = [
    ...['certificate-authority'].filter((field) => cluster[field] !== undefined),
    ...['client-certificate', 'client-key', 'tokenFile'].filter((field) => user[field] !== undefined),
  ];
  if (cluster['proxy-url'] !== undefined) {
    const message =
      'The kubeconfig goes through a proxy (proxy-url), which the control plane does not use. Give the address by which the control plane reaches the API.';
    return { kind: 'invalid', code: 'kubeconfig-names-proxy', message, field: FIELD };
  }
  if (files.length === 0) return undefined;
  const message = `The kubeconfig names files (${files.join(', ')}), which are not on the control plane. Put them inside: "kubectl config view --minify --flatten --raw" does so.`;
  return { kind: 'invalid', code: 'kubeconfig-names-files', message, field: FIELD };
}

function composeAccess(
  cluster: KubeCluster,
  user: KubeUser,
  isLoopback: KubeconfigReading['isLoopback'],
): Omit<ClusterAccess, 'name'> | Refusal {
  const endpoint = cluster.server.replace(/\/+$/, '');
  const url = URL_FORM.test(endpoint) ? URL.parse(endpoint) : null;
  if (url === null) return refuseForm('its server is no http or https URL');
  if (url.username !== '' || url.password !== '') return refuseUserinfo();
  const caCertificate = decodeField(cluster['certificate-authority-data']);
  if (caCertificate === 'malformed' || (caCertificate !== undefined && !PEM.test(caCertificate)))
    return refuseForm('its certificate-authority-data is no certificate in PEM');
  const credentials = composeCredentials(user);
  if (credentials === 'malformed') return refuseForm('its client certificate and key are not both there, in base64');
  const skipsTlsVerify = cluster['insecure-skip-tls-verify'] === true;
  if (credentials !== undefined && !skipsTlsVerify && url.protocol === 'http:' && !isLoopback(url.hostname))
    return refusePlainHttp();
  const tlsServerName = cluster['tls-server-name'];
  return {
    endpoint,
    ...(caCertificate !== undefined && { caCertificate }),
    ...(typeof tlsServerName === 'string' && { tlsServerName }),
    ...(skipsTlsVerify && { skipTlsVerify: true as const }),
    ...(credentials !== undefined && { credentials }),
  };
}

function composeCredentials(user: KubeUser): ClusterCredentials | 'malformed' | undefined {
  const { token, username, password } = user;
  if (token !== undefined && token !== '') return { kind: 'token', token };
  const certificate = decodeField(user['client-certificate-data']);
  const key = decodeField(user['client-key-data']);
  if (certificate === 'malformed' || key === 'malformed') return 'malformed';
  if (certificate !== undefined && key !== undefined) return { kind: 'certificate', certificate, key };
  // Half of it authenticates no user: requests would be anonymous.
  if (certificate !== undefined || key !== undefined) return 'malformed';
  return username !== undefined && password !== undefined ? { kind: 'password', user: username, password } : undefined;
}

function decodeField(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return BASE64.test(value) ? Buffer.from(value, 'base64').toString() : 'malformed';
}

function refuseForm(why = 'it is neither YAML nor JSON with contexts, clusters and users'): Refusal {
  const message = `This is no kubeconfig that can be used: ${why}. Give what "kubectl config view --minify --flatten --raw" writes.`;
  return { kind: 'invalid', code: 'kubeconfig-malformed', message, field: FIELD };
}

function refuseUserinfo(): Refusal {
  const message =
    'The server of the kubeconfig has a user or a password in its URL, which is shown to whoever may see the cluster. Put them into the user of the kubeconfig.';
  return { kind: 'invalid', code: 'kubeconfig-shows-secret', message, field: FIELD };
}

function refusePlainHttp(): Refusal {
  const message =
    'The server of the kubeconfig is reached over plain HTTP, where everybody on the way can read the credentials. Use its https URL, or say in the kubeconfig that it is not verified (insecure-skip-tls-verify: true).';
  return { kind: 'invalid', code: 'kubeconfig-plain-http', message, field: FIELD };
}

function refuseContext(name: string | undefined, { contexts }: Kubeconfig): Refusal {
  const SHOWN_MAX = 10;
  const names = contexts.slice(0, SHOWN_MAX).map((one) => `"${one.name}"`);
  const known = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`;
  const message = `The kubeconfig has no context "${name ?? ''}": ${known}. Name one of those.`;
  return { kind: 'invalid', code: 'unknown-context', message, field: '/context' };
}
