// Explains why a TLS connection failed, and what to do. Nothing was sent over it.

const NOT_TRUSTED =
  'its certificate is not trusted here. Name its authority in NODE_EXTRA_CA_CERTS where this server is started, and start this server again';

const SENTENCES: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: NOT_TRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: NOT_TRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: NOT_TRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: NOT_TRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NOT_TRUSTED,
  CERT_UNTRUSTED: NOT_TRUSTED,
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another name. Give it a certificate for this address, or start it with --advertise and the name in its certificate',
  CERT_HAS_EXPIRED: 'its certificate has expired. Renew it',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet. Compare the clocks of the two machines',
};

/** Undefined when it was something else. */
export function describeCertificateError(code: unknown): string | undefined {
  return typeof code === 'string' ? SENTENCES[code] : undefined;
}
