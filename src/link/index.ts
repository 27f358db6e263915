export { abortWith } from './abort-with.ts';
export { CertificateCheck } from './certificates/certificate-check.ts';
export type { CertificateStatus } from './certificates/certificate-check.ts';
export { CertificateIssuer } from './certificates/certificate-issuer.ts';
export type { IssuingKeys } from './certificates/certificate-issuer.ts';
export { CertificateKeeper } from './certificates/certificate-keeper.ts';
export type {
  CertificateLink,
  CertificateRequester,
  CertificateStore,
  PendingCertificateRequest,
} from './certificates/certificate-keeper.ts';
export {
  CERTIFICATE_REQUEST,
  ISSUED_CERTIFICATE,
  RENEWAL_REQUEST,
  STORED_CERTIFICATE,
} from './certificates/certificate-messages.ts';
export type { IssuedCertificate, RenewalRequest, StoredCertificate } from './certificates/certificate-messages.ts';
export { isCertificateRefusal } from './certificates/certificate-refusals.ts';
export { newCertificateAuthority, readAuthority } from './certificates/client-certificate.ts';
export type { CertificateSubject } from './certificates/client-certificate.ts';
export { Backoff } from './backoff.ts';
export { LinkDown } from './call.ts';
export type { KeyPair, Reply, CallTarget } from './call.ts';
export { tryParseJson } from './json-text.ts';
export { LeaderClient } from './leader-client.ts';
export type { CallResult } from './leader-client.ts';
export { LongPoll } from './long-poll.ts';
export type { PollOutcome } from './long-poll.ts';
export { isLoopback } from './loopback.ts';
export { http } from './node-http.ts';
export { originOf, transportTo } from './server-address.ts';
export { fingerprintsOf, parseFingerprint } from './server-pin.ts';
export type { Fingerprint, ServerFingerprints } from './server-pin.ts';
export { isSigned, PUBLIC_KEY, SIGNED_TEXT } from './signed-text.ts';
export type { PublicKey, SignedText, Signer, Verify } from './signed-text.ts';
export { DiskFailed } from './state/disk.ts';
export type { StateDisk, WriteOptions } from './state/disk.ts';
export { SealedFiles } from './state/sealed-files.ts';
export { sealJson, unsealJson } from './state/sealed-json.ts';
export { WakeSignal } from './wake-signal.ts';
