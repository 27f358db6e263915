// What `kubeadm join` and a kubelet do to become a node, in plain calls: a token of the cluster, the cluster's address and authority verified by it, and a
// certificate that the cluster signs. Muster's joins are compared with these.
import { createHash, createHmac, randomBytes, timingSafeEqual, X509Certificate } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../ha/wait-for.ts';
import { JOINING_GROUP } from './bootstrap-rules.ts';
import { KubeClient, type KubeObject } from './kube-client.ts';
import { type KubeAccess, kubeconfigOf, readKubeconfig } from './kubeconfig.ts';
import { requestCertificate } from './pki.ts';

export interface TokenParts {
  readonly id: string;
  readonly secret: string;
}

const CLUSTER_INFO = '/api/v1/namespaces/kube-public/configmaps/cluster-info';
const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const SECRETS = '/api/v1/namespaces/kube-system/secrets';

export async function createBootstrapToken(client: KubeClient, lifetimeMs = 3_600_000): Promise<TokenParts> {
  const token = { id: randomBytes(3).toString('hex'), secret: randomBytes(8).toString('hex') };
  await client.create(SECRETS, {
    metadata: { name: `bootstrap-token-${token.id}`, namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      'token-id': token.id,
      'token-secret': token.secret,
      expiration: new Date(Date.now() + lifetimeMs).toISOString(),
      'usage-bootstrap-authentication': 'true',
      'usage-bootstrap-signing': 'true',
      'auth-extra-groups': JOINING_GROUP,
    },
  });
  return token;
}

/** Whether it was there: the cluster removes those that have expired. */
export function revokeBootstrapToken(client: KubeClient, { id }: TokenParts): Promise<boolean> {
  return client.delete(`${SECRETS}/bootstrap-token-${id}`);
}

/** As `kubeadm join --discovery-token-ca-cert-hash` takes it. */
export function hashOfAuthority(certificate: string): string {
  const key = new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

export class DiscoveryFailure extends Error {}

interface ClusterInfo extends KubeObject {
  readonly data: Readonly<Record<string, string>>;
}

/**
 * Learns the cluster's address and authority from whoever answers at `endpoint`, and trusts it because it knows the token's secret and has the
 * authority that was pinned.
 */
export async function discoverCluster(endpoint: string, token: TokenParts, pin: string): Promise<KubeAccess> {
  const stranger = new KubeClient({ endpoint, skipsVerification: true, user: {} });
  try {
    const signature = `jws-kubeconfig-${token.id}`;
    const { data } = await waitFor(`cluster-info signed with token ${token.id}`, async () => {
      const info = await stranger.get<ClusterInfo>(CLUSTER_INFO);
      return info.data[signature] === undefined ? undefined : info;
    });
    const config = data['kubeconfig'] ?? '';
    if (!isSignedBy(token, config, data[signature] ?? '')) throw new DiscoveryFailure('the signature is wrong');
    const access = readKubeconfig(config);
    if (access.ca === undefined || hashOfAuthority(access.ca) !== pin)
      throw new DiscoveryFailure('the authority is not the pinned one');
    return access;
  } finally {
    stranger.close();
  }
}

/** A JWS without its content, which is the kubeconfig beside it. */
export function isSignedBy(token: TokenParts, content: string, detached: string): boolean {
  const [header = '', , signature = ''] = detached.split('.');
  const signed = `${header}.${Buffer.from(content).toString('base64url')}`;
  const expected = createHmac('sha256', token.secret).update(signed).digest();
  const given = Buffer.from(signature, 'base64url');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

interface CertificateRequest extends KubeObject {
  readonly status: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
  };
}

/** The kubeconfig of a node's kubelet: its key, and a certificate that the cluster gave for the token. */
export async function bootstrapKubelet(cluster: KubeAccess, token: TokenParts, node: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-join-'));
  const client = new KubeClient({ ...cluster, user: { token: `${token.id}.${token.secret}` } });
  try {
    const { key, request } = await requestCertificate(folder, `/O=system:nodes/CN=system:node:${node}`);
    const { metadata } = await client.create(REQUESTS, {
      metadata: { generateName: 'node-csr-' },
      spec: {
        request: Buffer.from(request).toString('base64'),
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        usages: ['digital signature', 'key encipherment', 'client auth'],
      },
    });
    const certificate = await waitFor(`the certificate of ${node}`, async () => {
      const { status } = await client.get<CertificateRequest>(`${REQUESTS}/${metadata.name}`);
      return status.certificate;
    });
    const user = { certificate: Buffer.from(certificate, 'base64').toString(), key };
    return kubeconfigOf({ ...cluster, user });
  } finally {
    client.close();
    await rm(folder, { recursive: true, force: true });
  }
}
