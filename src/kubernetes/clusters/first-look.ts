// What the first look at a cluster means for its registration.
import type { Refusal } from '../../fleet/index.ts';
import type { ClusterFacts } from '../cluster-api/cluster-api.ts';

export type FirstLook =
  | { readonly kind: 'answered'; readonly facts: ClusterFacts }
  | { readonly kind: 'not-answered' }
  | { readonly kind: 'malformed-authority' }
  | { readonly kind: 'untrusted'; readonly text: string }
  | { readonly kind: 'credentials-refused' };

const FIELD = '/kubeconfig';

/** Undefined when the cluster may be registered. What is said quotes nothing of the kubeconfig. */
export function refuseLook(look: FirstLook): Refusal | undefined {
  switch (look.kind) {
    case 'malformed-authority': {
      const message =
        'The certificate-authority-data of the kubeconfig is no certificate. Give what "kubectl config view --minify --flatten --raw" writes.';
      return { kind: 'invalid', code: 'kubeconfig-malformed', message, field: FIELD };
    }
    case 'untrusted': {
      const why = look.text.replace(/[.\s]+$/, '');
      const message = `The API of the cluster proves itself by a certificate that the authority in the kubeconfig has not signed (${why}). Give the authority of this cluster, or the name that its certificate has (tls-server-name): another machine may be answering in its place.`;
      return { kind: 'invalid', code: 'cluster-not-trusted', message, field: FIELD };
    }
    case 'credentials-refused': {
      const message =
        'The cluster does not take the credentials of the kubeconfig (401): the token, certificate or password is wrong, has expired, or is of another cluster. Give valid ones.';
      return { kind: 'invalid', code: 'cluster-credentials-refused', message, field: FIELD };
    }
    case 'answered':
    case 'not-answered':
      return undefined;
  }
}
