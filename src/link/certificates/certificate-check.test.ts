import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  CLIENT_CERTIFICATE_MS,
  certifySubject,
  newCertificateAuthority,
  newCertificateKey,
  verifyCertificateRequest,
  readAuthority,
  createCertificateRequest,
  type CertificateSubject,
} from './client-certificate.ts';
import { CertificateCheck, type CertificatePolicy } from './certificate-check.ts';

const DAY_MS = 24 * 3600 * 1000;
const NOW_MS = Date.UTC(2030, 0, 15);
const TO_MS = NOW_MS + CLIENT_CERTIFICATE_MS;

function newAuthority() {
  const made = newCertificateAuthority(NOW_MS);
  const authority = readAuthority(made.certificate, made.pem);
  const spki = verifyCertificateRequest(createCertificateRequest(newCertificateKey().privateKey, 'x'));
  return {
    certificate: new X509Certificate(made.certificate),
    certify: (name: string, kind: CertificateSubject['kind'] = 'host') =>
      new X509Certificate(certifySubject(spki, authority, { subject: { kind, name }, nowMs: NOW_MS, toMs: TO_MS })),
  };
}

const ours = newAuthority();
const theirs = newAuthority();
const c1 = ours.certify('c1');
const managerC1 = ours.certify('c1', 'manager');

interface Case {
  readonly policy: CertificatePolicy;
  readonly shown?: X509Certificate;
  readonly isRenewal?: boolean;
  readonly nowMs?: number;
}

test.each<[string, Case, string | undefined]>([
  ['none-is-fine', { policy: 'optional' }, undefined],
  ['its-own-is-fine', { policy: 'optional', shown: c1 }, undefined],
  ['another-hosts-is-not', { policy: 'optional', shown: ours.certify('c2') }, 'certificate-of-other-host'],
  ['a-managers-of-the-same-name-is-not', { policy: 'optional', shown: managerC1 }, 'certificate-of-other-host'],
  ['another-authoritys-is-not', { policy: 'optional', shown: theirs.certify('c1') }, 'certificate-unknown'],
  ['an-expired-one-is-not', { policy: 'optional', shown: c1, nowMs: TO_MS }, 'certificate-expired'],
  ['anybody-may-ask-for-one', { policy: 'optional', shown: theirs.certify('c2'), isRenewal: true }, undefined],
  ['none-is-not-enough', { policy: 'required' }, 'certificate-required'],
  ['its-own-is-enough', { policy: 'required', shown: c1 }, undefined],
  ['without-one-none-is-renewed', { policy: 'required', isRenewal: true }, 'certificate-required'],
  ['an-expired-one-is-renewed', { policy: 'required', shown: c1, isRenewal: true, nowMs: TO_MS + DAY_MS }, undefined],
  [
    'another-hosts-is-not-renewed',
    { policy: 'required', shown: ours.certify('c2'), isRenewal: true },
    'certificate-of-other-host',
  ],
])('%s', (_name, { policy, shown, isRenewal = false, nowMs = NOW_MS }, code) => {
  const check = new CertificateCheck('host', policy, () => [ours.certificate]);
  expect(check.check({ name: 'c1', shown, isRenewal }, nowMs)?.code).toBe(code);
});

test.each<[string, X509Certificate | undefined, number, object]>([
  ['none', undefined, NOW_MS, { state: 'none' }],
  ['good-for-long', c1, NOW_MS, { state: 'valid', expiresAtMs: TO_MS }],
  ['a-quarter-is-left', c1, TO_MS - CLIENT_CERTIFICATE_MS / 4, { state: 'valid', expiresAtMs: TO_MS }],
  ['less-than-a-quarter', c1, TO_MS - CLIENT_CERTIFICATE_MS / 4 + 1, { state: 'renewal-overdue', expiresAtMs: TO_MS }],
  ['it-is-over', c1, TO_MS + DAY_MS, { state: 'renewal-overdue', expiresAtMs: TO_MS }],
])('standing-of-the-certificate-that-was-shown-last: %s', (_name, shown, nowMs, standing) => {
  const check = new CertificateCheck('host', 'optional', () => [ours.certificate]);
  expect(check.statusOf('c1', nowMs)).toBeUndefined();
  check.check({ name: 'c1', shown: shown === undefined ? c1 : undefined, isRenewal: false }, NOW_MS);
  check.check({ name: 'c1', shown, isRenewal: false }, NOW_MS);
  expect(check.statusOf('c1', nowMs)).toEqual(standing);
  expect(check.statusOf('c2', nowMs)).toBeUndefined();
});

test('an-authority-that-is-no-longer-in-force-counts-no-more-on-connections-that-are-open', () => {
  let authorities = [ours.certificate, theirs.certificate];
  const check = new CertificateCheck('host', 'optional', () => authorities);
  const peer = { name: 'c1', shown: c1, isRenewal: false };
  expect(check.check(peer, NOW_MS)).toBeUndefined();
  authorities = [theirs.certificate];
  expect(check.check(peer, NOW_MS)).toMatchObject({ kind: 'forbidden', code: 'certificate-unknown' });
});

test('agents-are-counted-by-what-they-showed-last-and-hosts-that-are-gone-are-not', () => {
  const check = new CertificateCheck('host', 'optional', () => [ours.certificate]);
  const show = (host: string, shown: X509Certificate | undefined): void =>
    void check.check({ name: host, shown, isRenewal: false }, NOW_MS);
  show('c1', undefined);
  show('c1', c1);
  show('c2', undefined);
  show('c3', ours.certify('c3'));
  const counted = (nowMs: number) => Object.fromEntries(check.count((host) => host !== 'c3', nowMs));
  expect(counted(NOW_MS)).toEqual({ valid: 1, 'renewal-overdue': 0, none: 1 });
  expect(counted(TO_MS - 7 * DAY_MS)).toEqual({ valid: 0, 'renewal-overdue': 1, none: 1 });
});

test.each<[string, Omit<Case, 'policy'>, string | undefined]>([
  ['its-own', { shown: managerC1 }, undefined],
  ['of-the-host-of-the-same-name', { shown: c1 }, 'certificate-of-other-manager'],
  ['of-another-manager', { shown: ours.certify('c2', 'manager') }, 'certificate-of-other-manager'],
  ['a-renewal-with-one-of-a-host', { shown: c1, isRenewal: true }, 'certificate-of-other-manager'],
  ['none', {}, 'certificate-required'],
])('a-manager-that-shows: %s', (_name, { shown, isRenewal = false }, code) => {
  const check = new CertificateCheck('manager', 'required', () => [ours.certificate]);
  const refused = check.check({ name: 'c1', shown, isRenewal }, NOW_MS);
  expect(refused?.code).toBe(code);
  if (refused !== undefined) expect(refused.message).toContain('muster baremetal managers join-token c1');
});
