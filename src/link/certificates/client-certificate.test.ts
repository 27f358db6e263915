import { generateKeyPairSync, sign, X509Certificate } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  CLIENT_CERTIFICATE_MS,
  certifySubject,
  isValidAt,
  newCertificateAuthority,
  newCertificateKey,
  verifyCertificateRequest,
  readClientCertificate,
  readAuthority,
  createCertificateRequest,
} from './client-certificate.ts';
import { bitString, der, elementsIn, MalformedDer, oid, sequence, TAG } from './der.ts';

const NOW_MS = Date.UTC(2030, 0, 15);
const made = newCertificateAuthority(NOW_MS);
const authority = readAuthority(made.certificate, made.pem);
const trusted = [new X509Certificate(made.certificate)];
const times = { nowMs: NOW_MS, toMs: NOW_MS + CLIENT_CERTIFICATE_MS };

const signRequest = (request: string, by: typeof authority, host: string): string =>
  certifySubject(verifyCertificateRequest(request), by, { subject: { kind: 'host', name: host }, ...times });

const certified = (host: string): X509Certificate =>
  new X509Certificate(
    signRequest(createCertificateRequest(newCertificateKey().privateKey, 'anything'), authority, host),
  );

const hostOfCertificate = (
  shown: X509Certificate,
  authorities: readonly X509Certificate[],
  nowMs: number,
): string | undefined => {
  const read = readClientCertificate(shown, authorities);
  return read !== undefined && isValidAt(read, nowMs) ? read.subject.name : undefined;
};

test('a-certificate-names-the-host-that-was-decided-on-and-not-the-one-in-the-request', () => {
  for (const host of ['c1', 'rack-1.c:2@x', 'h'.repeat(200)])
    expect(hostOfCertificate(certified(host), trusted, NOW_MS)).toBe(host);
});

test('a-certificate-is-good-for-its-time-and-not-beyond', () => {
  const certificate = certified('c1');
  expect(hostOfCertificate(certificate, trusted, times.toMs - 1000)).toBe('c1');
  expect(hostOfCertificate(certificate, trusted, times.toMs)).toBeUndefined();
  expect(hostOfCertificate(certificate, trusted, NOW_MS - 2 * 3600 * 1000)).toBeUndefined();
});

test('a-certificate-of-another-authority-is-not-ours-though-it-has-the-same-name', () => {
  const other = newCertificateAuthority(NOW_MS);
  expect(hostOfCertificate(certified('c1'), [new X509Certificate(other.certificate)], NOW_MS)).toBeUndefined();
  expect(hostOfCertificate(certified('c1'), [], NOW_MS)).toBeUndefined();
  expect(hostOfCertificate(new X509Certificate(made.certificate), trusted, NOW_MS)).toBeUndefined();
});

test('two-authorities-are-trusted-during-a-rotation', () => {
  const next = newCertificateAuthority(NOW_MS);
  const both = [new X509Certificate(next.certificate), ...trusted];
  expect(hostOfCertificate(certified('c1'), both, NOW_MS)).toBe('c1');
});

test('a-request-for-a-key-that-nobody-should-use-is-refused', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
  expect(() => signRequest(createCertificateRequest(privateKey, 'c1'), authority, 'c1')).toThrow(MalformedDer);
});

test('never: a damaged request is signed, or fails in any other way than by name', () => {
  const bytes = Buffer.from(
    createCertificateRequest(newCertificateKey().privateKey, 'c1').replaceAll(/-----[^-]+-----|\s/g, ''),
    'base64',
  );
  const wrapped = (body: Buffer): string =>
    `-----BEGIN CERTIFICATE REQUEST-----\n${body.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), fc.boolean(), (at, flip, cut) => {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ flip;
      const body = cut ? bytes.subarray(0, at) : damaged;
      expect(() => signRequest(wrapped(body), authority, 'c1')).toThrow(MalformedDer);
    }),
    { numRuns: 300 },
  );
});

/** The parts of a good request, to be put together in other ways: what is signed, with what, and the signature. */
function partsOfRequest() {
  const { privateKey } = newCertificateKey();
  const text = createCertificateRequest(privateKey, 'c1');
  const [whole] = elementsIn(Buffer.from(text.split('\n').slice(1, -2).join(''), 'base64'));
  const [info, algorithm, signature] = elementsIn(whole!.content).map((part) => part.whole);
  return { info: info!, algorithm: algorithm!, signature: signature!, privateKey };
}
const requestOf = (...bytes: readonly Buffer[]): string =>
  `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.concat(bytes).toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;

test('a-request-put-together-from-its-parts-is-the-same', () => {
  const { info, algorithm, signature } = partsOfRequest();
  expect(verifyCertificateRequest(requestOf(sequence(info, algorithm, signature)))).toBeInstanceOf(Buffer);
});

const SHA384 = sequence(oid('1.2.840.10045.4.3.3'));
test.each<[string, (parts: ReturnType<typeof partsOfRequest>) => readonly Buffer[]]>([
  ['with-something-behind-it', (one) => [sequence(one.info, one.algorithm, one.signature), sequence()]],
  ['that-is-a-set', (one) => [der(TAG.set, one.info, one.algorithm, one.signature)]],
  ['with-a-fourth-part', (one) => [sequence(one.info, one.algorithm, one.signature, sequence())]],
  ['without-a-signature', (one) => [sequence(one.info, one.algorithm)]],
  ['with-a-signature-that-is-no-bit-string', (one) => [sequence(one.info, one.algorithm, octets(one.signature))]],
  ['with-a-signature-of-half-a-byte', (one) => [sequence(one.info, one.algorithm, unevenBits(one.signature))]],
  ['with-an-empty-signature', (one) => [sequence(one.info, one.algorithm, bitString(Buffer.alloc(0)))]],
  ['of-another-algorithm-than-it-says', (one) => [sequence(one.info, SHA384, one.signature)]],
  ['with-nothing-that-is-signed', (one) => [sequence(sequence(), one.algorithm, one.signature)]],
  [
    'with-a-set-that-is-signed',
    (one) => {
      const set = der(TAG.set, contentOf(one.info));
      const digest = one.privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256';
      return [sequence(set, one.algorithm, bitString(sign(digest, set, one.privateKey)))];
    },
  ],
])('never: a request %s is taken', (_name, put) => {
  expect(() => verifyCertificateRequest(requestOf(...put(partsOfRequest())))).toThrow(MalformedDer);
});

const contentOf = (element: Buffer): Buffer => elementsIn(element)[0]!.content;
const octets = (signature: Buffer): Buffer => der(TAG.octetString, contentOf(signature));
/** The same bytes, said to be four bits fewer. */
const unevenBits = (signature: Buffer): Buffer =>
  der(TAG.bitString, Buffer.from([4]), contentOf(signature).subarray(1));
