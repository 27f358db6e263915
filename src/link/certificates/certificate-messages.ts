// What is sent for a certificate, and what comes back: the same for agents and managers.
import { Type, type Static } from 'typebox';
import { strictObject } from '../../access/index.ts';

/** Several times as long as a request for a P-256 key. */
const REQUEST_LENGTH_MAX = 4096;

export const CERTIFICATE_REQUEST = Type.String({
  maxLength: REQUEST_LENGTH_MAX,
  description: 'PKCS #10 in PEM form, for a P-256 or Ed25519 key; the name in it does not count',
});

/** A certificate for whoever the credential of the request speaks for. */
export const ISSUED_CERTIFICATE = Type.Object({
  /** PEM. */
  certificate: Type.String(),
  /** PEM: the authorities by which servers check certificates, the issuer of this one first. */
  authorities: Type.Array(Type.String()),
  /** Of the keys that issued it: it grows with every rotation. */
  serial: Type.Integer(),
});
export type IssuedCertificate = Static<typeof ISSUED_CERTIFICATE>;

export const RENEWAL_REQUEST = strictObject({ certificateRequest: CERTIFICATE_REQUEST });
export type RenewalRequest = Static<typeof RENEWAL_REQUEST>;

/** Key and certificate in one file: after a crash they still belong together. */
export const STORED_CERTIFICATE = Type.Object({
  /** The credential that it was issued to. */
  token: Type.String(),
  key: Type.String(),
  certificate: Type.String(),
  /** Of the control plane's keys that it was issued with. */
  serial: Type.Integer(),
  /** By its owner's own clock. */
  receivedAtMs: Type.Integer(),
});
export type StoredCertificate = Static<typeof STORED_CERTIFICATE>;
