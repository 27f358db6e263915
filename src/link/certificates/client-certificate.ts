// Certificates of agents and managers: the requests that they make, the authority that signs them, and the check of a presented certificate. The name
// in a request must never be used: the credential of the request decides whom a certificate is for.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  randomBytes,
  sign,
  verify,
  type KeyObject,
  type X509Certificate,
} from 'node:crypto';
import { bitString, der, elementsIn, integer, MalformedDer, oid, sequence, TAG, time } from './der.ts';

const OID = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  ed25519: '1.3.101.112',
  subjectKeyIdentifier: '2.5.29.14',
  authorityKeyIdentifier: '2.5.29.35',
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
  alternativeName: '2.5.29.17',
  clientAuthentication: '1.3.6.1.5.5.7.3.2',
};

const DAY_MS = 24 * 3600 * 1000;
export const CLIENT_CERTIFICATE_MS = 30 * DAY_MS;
const AUTHORITY_MS = 3650 * DAY_MS;
/** Clocks of hosts differ: a certificate is valid from a little before it was issued. */
const CLOCK_SKEW_MS = 3600 * 1000;
/** Of X.520; the whole name is in the subject alternative name. */
const COMMON_NAME_MAX = 64;
const URI_TAG = 0x86;
const KEY_IDENTIFIER_TAG = 0x80;
/** Before the names in our certificates, which have no character with a meaning in a URI or in Node's printed form. */
const URIS = { host: 'muster:host:', manager: 'muster:manager:' } as const;

/** Whom a certificate is for: the agent of a host, or a manager of bare-metal nodes. A name of one kind never stands for one of the other. */
export interface CertificateSubject {
  readonly kind: keyof typeof URIS;
  readonly name: string;
}

const SUBJECT_KINDS = Object.keys(URIS) as readonly CertificateSubject['kind'][];

export interface CertificateAuthority {
  /** PEM. */
  readonly certificate: string;
  readonly privateKey: KeyObject;
}

export interface CertificateKey {
  readonly privateKey: KeyObject;
  /** PEM, PKCS #8. */
  readonly pem: string;
}

export function newCertificateKey(): CertificateKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { privateKey, pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}

/** A certificate signing request (PKCS #10) for this key, in PEM. */
export function createCertificateRequest(privateKey: KeyObject, name: string): string {
  const info = sequence(integer(Buffer.from([0])), nameOf(name), spkiOf(privateKey), der(0xa0));
  return pem('CERTIFICATE REQUEST', signDer(privateKey, info));
}

export function newCertificateAuthority(nowMs: number): { readonly certificate: string; readonly pem: string } {
  const key = newCertificateKey();
  const name = nameOf('Muster agents');
  const certificate = certify(key.privateKey, {
    issuer: name,
    subject: name,
    spki: spkiOf(key.privateKey),
    fromMs: nowMs - CLOCK_SKEW_MS,
    toMs: nowMs + AUTHORITY_MS,
    extensions: [
      // A certificate authority that must not issue further authorities.
      extension(OID.basicConstraints, sequence(der(0x01, Buffer.from([0xff])), integer(Buffer.from([0])))),
      extension(OID.keyUsage, der(TAG.bitString, Buffer.from([2, 0b0000_0100]))),
      subjectKey(spkiOf(key.privateKey)),
    ],
  });
  return { certificate, pem: key.pem };
}

export interface CertificateTerms {
  readonly subject: CertificateSubject;
  readonly nowMs: number;
  readonly toMs: number;
}

/** A certificate in PEM. The key must be one that `verifyCertificateRequest` has returned. */
export function certifySubject(
  spki: Buffer,
  authority: CertificateAuthority,
  { subject: { kind, name }, nowMs, toMs }: CertificateTerms,
): string {
  const { subject: issuer } = partsOfCertificate(authority.certificate);
  return certify(authority.privateKey, {
    issuer,
    subject: nameOf(name.slice(0, COMMON_NAME_MAX)),
    spki,
    fromMs: nowMs - CLOCK_SKEW_MS,
    toMs,
    extensions: [
      extension(OID.basicConstraints, sequence()),
      extension(OID.keyUsage, der(TAG.bitString, Buffer.from([7, 0b1000_0000]))),
      extension(OID.extendedKeyUsage, sequence(oid(OID.clientAuthentication)), false),
      extension(OID.alternativeName, sequence(der(URI_TAG, Buffer.from(URIS[kind] + name, 'ascii'))), false),
      subjectKey(spki),
      authorityKey(spkiOf(authority.privateKey)),
    ],
  });
}

/** The contents of a certificate of ours. */
export interface ClientCertificate {
  readonly subject: CertificateSubject;
  /** The authority that issued it. */
  readonly authority: X509Certificate;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Undefined when none of these authorities issued it, or not for a client of ours. Validity dates are not checked. */
export function readClientCertificate(
  shown: X509Certificate,
  authorities: readonly X509Certificate[],
): ClientCertificate | undefined {
  const authority = authorities.find((one) => shown.checkIssued(one) && shown.verify(one.publicKey));
  if (authority === undefined || shown.ca) return undefined;
  if (!(shown.keyUsage ?? []).includes(OID.clientAuthentication)) return undefined;
  const subject = readSubject(shown.subjectAltName ?? '');
  return subject && { subject, authority, ...validityOf(shown) };
}

/** From the one name in the form in which Node prints it. */
function readSubject(printed: string): CertificateSubject | undefined {
  if (printed.includes(',')) return undefined;
  const kind = SUBJECT_KINDS.find((one) => printed.startsWith(`URI:${URIS[one]}`));
  return kind && { kind, name: printed.slice(`URI:${URIS[kind]}`.length) };
}

export interface Validity {
  readonly fromMs: number;
  readonly toMs: number;
}

export function validityOf({ validFrom, validTo }: X509Certificate): Validity {
  return { fromMs: Date.parse(validFrom), toMs: Date.parse(validTo) };
}

/** Throws OpenSSL's own error for what is no private key. */
export function isKeyOf(certificate: X509Certificate, privateKey: string): boolean {
  return certificate.checkPrivateKey(createPrivateKey(privateKey));
}

export function isValidAt({ fromMs, toMs }: Validity, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs < toMs;
}

interface Contents {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly spki: Buffer;
  readonly fromMs: number;
  readonly toMs: number;
  readonly extensions: readonly Buffer[];
}

const SERIAL_BYTES = 16;
const VERSION_3 = der(0xa0, integer(Buffer.from([2])));

function certify(privateKey: KeyObject, contents: Contents): string {
  const { issuer, subject, spki, fromMs, toMs, extensions } = contents;
  const validity = sequence(time(fromMs), time(toMs));
  const serial = integer(randomBytes(SERIAL_BYTES));
  const body = sequence(
    VERSION_3,
    serial,
    algorithmOf(privateKey),
    issuer,
    validity,
    subject,
    spki,
    der(0xa3, sequence(...extensions)),
  );
  return pem('CERTIFICATE', signDer(privateKey, body));
}

function extension(id: string, value: Buffer, isCritical = true): Buffer {
  const critical = isCritical ? [der(0x01, Buffer.from([0xff]))] : [];
  return sequence(oid(id), ...critical, der(TAG.octetString, value));
}

/** RFC 7093, method 1: identifies the key. Two authorities have the same name during a rotation. */
function keyIdentifier(spki: Buffer): Buffer {
  const [, key] = elementsIn(elementsIn(spki)[0]?.content ?? Buffer.alloc(0));
  return hash('sha256', (key?.content ?? Buffer.alloc(0)).subarray(1), 'buffer').subarray(0, 20);
}

function subjectKey(spki: Buffer): Buffer {
  return extension(OID.subjectKeyIdentifier, der(TAG.octetString, keyIdentifier(spki)), false);
}

function authorityKey(spki: Buffer): Buffer {
  return extension(OID.authorityKeyIdentifier, sequence(der(KEY_IDENTIFIER_TAG, keyIdentifier(spki))), false);
}

function nameOf(text: string): Buffer {
  return sequence(der(TAG.set, sequence(oid(OID.commonName), der(TAG.utf8, Buffer.from(text, 'utf8')))));
}

function spkiOf(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: 'spki', format: 'der' });
}

function algorithmOf(key: KeyObject): Buffer {
  return sequence(oid(key.asymmetricKeyType === 'ed25519' ? OID.ed25519 : OID.ecdsaWithSha256));
}

function signDer(key: KeyObject, body: Buffer): Buffer {
  const signature = sign(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', body, key);
  return sequence(body, algorithmOf(key), bitString(signature));
}

/** The public key (SPKI) of a request signed by its owner; throws `MalformedDer` when the request is invalid. */
export function verifyCertificateRequest(text: string): Buffer {
  const [request, ...rest] = elementsIn(bytesOfPem(text));
  if (request?.tag !== TAG.sequence || rest.length > 0) throw new MalformedDer('it is not one request');
  const [info, algorithm, signature, ...more] = elementsIn(request.content);
  if (info?.tag !== TAG.sequence || more.length > 0 || signature?.tag !== TAG.bitString || signature.content[0] !== 0)
    throw new MalformedDer('it is not signed');
  const [, , spki] = elementsIn(info.content);
  const key = publicKeyIn(spki?.whole ?? Buffer.alloc(0));
  const digest = key.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  if (algorithm?.whole.equals(algorithmOf(key)) !== true)
    throw new MalformedDer('it is signed in a way that its key is not for');
  if (!verify(digest, info.whole, key, signature.content.subarray(1)))
    throw new MalformedDer('it is not signed by the owner of its key');
  // As OpenSSL encodes it: no unchecked input gets into a certificate.
  return key.export({ type: 'spki', format: 'der' });
}

function publicKeyIn(spki: Buffer): KeyObject {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: spki, type: 'spki', format: 'der' });
  } catch {
    // OpenSSL throws plain errors with its own texts for what is no key.
    throw new MalformedDer('it has no public key');
  }
  const isFit =
    key.asymmetricKeyType === 'ed25519' ||
    (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1');
  if (!isFit) throw new MalformedDer('its key is neither P-256 nor Ed25519');
  return key;
}

function partsOfCertificate(text: string): { readonly subject: Buffer } {
  const [certificate] = elementsIn(bytesOfPem(text));
  const [body] = elementsIn(certificate?.content ?? Buffer.alloc(0));
  const subject = elementsIn(body?.content ?? Buffer.alloc(0))[5];
  if (subject === undefined) throw new MalformedDer('it is no certificate');
  return { subject: subject.whole };
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

function bytesOfPem(text: string): Buffer {
  const found = /-----BEGIN [A-Z ]+-----([A-Za-z0-9+/=\s]+)-----END [A-Z ]+-----/.exec(text);
  if (found === null) throw new MalformedDer('it is not in PEM form');
  return Buffer.from(found[1] ?? '', 'base64');
}

export function readAuthority(certificate: string, privateKey: string): CertificateAuthority {
  return { certificate, privateKey: createPrivateKey(privateKey) };
}
