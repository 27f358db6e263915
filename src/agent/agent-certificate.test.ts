import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  AGENT_CERTIFICATE_MS,
  certifyHost,
  isValidAt,
  newCertificateAuthority,
  newCertificateKey,
  publicKeyInRequest,
  readAgentCertificate,
  readAuthority,
  requestCertificate,
} from './agent-certificate.ts';
import { MalformedDer } from './der.ts';

const NOW_MS = Date.UTC(2030, 0, 15);
const made = newCertificateAuthority(NOW_MS);
const authority = readAuthority(made.certificate, made.pem);
const trusted = [new X509Certificate(made.certificate)];
const times = { nowMs: NOW_MS, toMs: NOW_MS + AGENT_CERTIFICATE_MS };

const signRequest = (request: string, by: typeof authority, host: string): string =>
  certifyHost(publicKeyInRequest(request), by, { host, ...times });

const certified = (host: string): X509Certificate =>
  new X509Certificate(signRequest(requestCertificate(newCertificateKey().privateKey, 'anything'), authority, host));

const hostOfCertificate = (
  shown: X509Certificate,
  authorities: readonly X509Certificate[],
  nowMs: number,
): string | undefined => {
  const read = readAgentCertificate(shown, authorities);
  return read !== undefined && isValidAt(read, nowMs) ? read.host : undefined;
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
  expect(() => signRequest(requestCertificate(privateKey, 'c1'), authority, 'c1')).toThrow(MalformedDer);
});

test('never: a damaged request is signed, or fails in any other way than by name', () => {
  const bytes = Buffer.from(
    requestCertificate(newCertificateKey().privateKey, 'c1').replaceAll(/-----[^-]+-----|\s/g, ''),
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
