// The first look at a cluster, before it is registered: whether its API is the one that the kubeconfig means, and what Muster may not do there. One that does not
// answer now is registered all the same; one that is not trusted, or that does not take the credentials, never will be of use.
import { X509Certificate } from 'node:crypto';
import { ApiClient } from '../cluster-api/client/api-client-driver.ts';
import type { ClusterAccess } from '../cluster-api/client/access.ts';
import { ClusterRefused, ClusterUnreachable } from '../cluster-api/cluster-api.ts';
import type { FirstLook } from './first-look.ts';

/** The caller waits for it. */
const LOOK_MAX_MS = 5000;
const UNAUTHENTICATED = 401;

export async function lookFirst(access: ClusterAccess): Promise<FirstLook> {
  if (!isReadable(access.caCertificate)) return { kind: 'malformed-authority' };
  const api = new ApiClient(access);
  const signal = AbortSignal.timeout(LOOK_MAX_MS);
  try {
    await api.listNodes({ signal }).catch(ignoreForbidden);
    return { kind: 'answered', facts: await api.readFacts({ signal }) };
  } catch (error) {
    if (signal.aborted) return { kind: 'not-answered' };
    if (error instanceof ClusterUnreachable)
      return error.isUntrusted ? { kind: 'untrusted', text: error.message } : { kind: 'not-answered' };
    if (!(error instanceof ClusterRefused)) throw error;
    return { kind: error.status === UNAUTHENTICATED ? 'credentials-refused' : 'not-answered' };
  }
}

/** What is missing is in the facts. */
function ignoreForbidden(error: unknown): void {
  const FORBIDDEN = 403;
  if (!(error instanceof ClusterRefused && error.status === FORBIDDEN)) throw error;
}

function isReadable(certificate: string | undefined): boolean {
  if (certificate === undefined) return true;
  try {
    return new X509Certificate(certificate).fingerprint256 !== '';
  } catch (error) {
    // Of OpenSSL: it is no certificate.
    if (error instanceof Error) return false;
    throw error;
  }
}
