import { expect, test } from 'vitest';
import { describeCertificateError } from './certificate-error.ts';

test.each([
  ['SELF_SIGNED_CERT_IN_CHAIN', 'is not trusted here. Name its authority in NODE_EXTRA_CA_CERTS'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'is not trusted here'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'is for another name'],
  ['CERT_HAS_EXPIRED', 'has expired. Renew it'],
])('%s says what to do', (code, advice) => expect(describeCertificateError(code)).toContain(advice));

test.each(['ECONNREFUSED', 'ECONNRESET', undefined, 7])('%s is no trouble with a certificate', (code) => {
  expect(describeCertificateError(code)).toBeUndefined();
});
