// The client certificate of a request that is forwarded. The server that decides checks certificates, and the connection that showed it ends at the server
// that forwards: that one proves with a signature of the control plane which certificate it was shown, with which credential and for which lease holder.
import type { X509Certificate } from 'node:crypto';

export const PEER_PROOF = 'muster-peer';

export interface PeerProofTerms {
  /** The credential of the request. */
  readonly authorization: string | undefined;
  /** Of the server that decides: a proof does not outlive its lease. */
  readonly leaseEpoch: number;
}

export interface PeerProofs {
  /** Undefined while this server has no key to prove it with. */
  prove(shown: X509Certificate, terms: PeerProofTerms): string | undefined;
  /** The certificate that was shown; undefined for what no server of this control plane has signed, or for another credential or lease. */
  verify(proof: string, terms: PeerProofTerms): X509Certificate | undefined;
}
