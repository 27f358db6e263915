// Certificates of managers, attacked: a certificate counts beside the credential and never instead of it, for its own manager, its own kind and its own
// time; no request gets one for another; and whoever is forgotten or revoked has none that counts.
import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { tokenIdIn } from '../../src/access/index.ts';
import { createCertificateRequest, newCertificateKey } from '../../src/link/certificates/client-certificate.ts';
import { selfSigned, type SelfSigned } from '../self-signed.ts';
import { forgeCertificate, selfMadeAuthority, TlsPlane, type TlsAnswer } from './tls-plane.ts';

type JoinedManager = Awaited<ReturnType<TlsPlane['joinManager']>>;

let tls: SelfSigned;
let optional: TlsPlane;
let required: TlsPlane;
let m1: JoinedManager;
let m2: JoinedManager;

beforeAll(async () => {
  tls = await selfSigned();
  [optional, required] = await Promise.all([
    TlsPlane.start(tls),
    TlsPlane.start(tls, '--manager-certificates', 'required'),
  ]);
  [m1, m2] = [await optional.joinManager('m1'), await optional.joinManager('m2')];
});

const DAY_MS = 24 * 3600 * 1000;
const refused = (code: string, status = 403): object => ({ status, body: { code } });
const newSecret = (): string => randomBytes(32).toString('base64url');

describe('a join as a manager', () => {
  test('gets-a-certificate-of-its-own-name-whatever-the-request-says', async () => {
    const joined = await optional.joinManager('M3', { name: 'm1' });
    expect(joined.subject).toBe('manager m3');
    const renewed = await optional.renewManager('m1', m1.credential, m2.pair);
    expect(optional.subjectIn(renewed.body as never)).toBe('manager m1');
    expect(await optional.register('m3', joined.credential, joined.pair)).toMatchObject({ status: 200 });
  });

  test('with-a-token-for-another-manager-or-for-a-host-is-refused, and-the-reverse', async () => {
    const ask = (path: string, secret: string): Promise<TlsAnswer> =>
      optional.ask('POST', path, { secret, body: { secret: newSecret() } });
    const [forManager, forHost] = [await optional.managerJoinToken('m4'), await optional.joinToken('c1')];
    expect(await ask('/api/v1/managers/m5/join', forManager)).toMatchObject(refused('other-manager'));
    expect(await ask('/api/v1/managers/m4/join', forHost)).toMatchObject(refused('join-token-other-manager'));
    expect(await ask('/api/v1/agent/join', forManager)).toMatchObject(refused('join-token-other-host'));
    // Neither was used up by that.
    expect(await ask('/api/v1/managers/m4/join', forManager)).toMatchObject({ status: 200 });
    expect(await ask('/api/v1/agent/join', forHost)).toMatchObject({ status: 200 });
  });

  test('is-made-once, and-repeated-after-a-lost-answer', async () => {
    const [secret, token] = [newSecret(), await optional.managerJoinToken('m6')];
    const join = (chosen: string): Promise<TlsAnswer> =>
      optional.ask('POST', '/api/v1/managers/m6/join', { secret: token, body: { secret: chosen } });
    const first = await join(secret);
    expect(first).toMatchObject({ status: 200, body: { manager: 'm6' } });
    expect((await join(secret)).body).toEqual(first.body);
    expect(await join(newSecret())).toMatchObject(refused('join-token-used', 410));
  });

  test('ends-the-credentials-before, also-tokens-that-were-made-by-hand', async () => {
    const first = await optional.joinManager('m7');
    const made = await optional.admin('POST', '/api/v1/tokens', { name: 'm7', role: 'manager', manager: 'm7' });
    const byHand = String(made.body['secret']);
    expect(await optional.register('m7', byHand, undefined)).toMatchObject({ status: 200 });
    const second = await optional.joinManager('m7');
    for (const [credential, pair] of [
      [first.credential, first.pair],
      [byHand, undefined],
    ] as const)
      expect(await optional.register('m7', credential, pair)).toMatchObject(refused('token-revoked', 401));
    expect(await optional.register('m7', second.credential, second.pair)).toMatchObject({ status: 200 });
  });

  test.each([
    ['no-pem', () => 'nothing'],
    ['cut-off', () => createCertificateRequest(newCertificateKey().privateKey, 'm8').replace(/\n.{64}\n/, '\n')],
  ])('with-a-request-that-is-%s-is-refused-and-uses-up-nothing', async (_name, request) => {
    const token = await optional.managerJoinToken('m8');
    const body = { secret: newSecret(), certificateRequest: request() };
    const answered = await optional.ask('POST', '/api/v1/managers/m8/join', { secret: token, body });
    expect(answered).toMatchObject(refused('malformed-certificate-request', 422));
    expect((await optional.joinManager('m8', { token })).pair).toBeDefined();
  });

  test('takes-an-administrator-to-make-a-join-token-for', async () => {
    const { body } = await optional.admin('POST', '/api/v1/tokens', { name: 'op', role: 'operator' });
    const asked = { secret: String(body['secret']), body: {} };
    expect(await optional.ask('POST', '/api/v1/managers/m9/join-token', asked)).toMatchObject(
      refused('role-insufficient'),
    );
  });
});

describe('a certificate that a manager shows', () => {
  test('fits-its-own-credential-and-need-not-be-there', async () => {
    expect(await optional.register('m1', m1.credential, m1.pair)).toMatchObject({ status: 200 });
    expect(await optional.register('m1', m1.credential, undefined)).toMatchObject({ status: 200 });
  });

  test('of-another-manager, or-of-the-host-of-the-same-name, is-refused', async () => {
    const host = await optional.join('m1');
    for (const pair of [m2.pair, host.pair])
      expect(await optional.register('m1', m1.credential, pair)).toMatchObject(refused('certificate-of-other-manager'));
    // An agent does not get by with a manager's either.
    expect(await optional.heartbeat(host.credential, m1.pair)).toMatchObject(refused('certificate-of-other-host'));
    expect(await optional.heartbeat(host.credential, host.pair)).toMatchObject({ status: 200 });
  });

  test('of-a-self-made-authority, of-the-authority-itself, or-of-the-server, is-refused', async () => {
    const [authority] = optional.readKeys().authorities;
    for (const pair of [
      forgeCertificate(selfMadeAuthority(), 'm1', { kind: 'manager' }),
      { key: authority!.privateKey, certificate: authority!.certificate },
      { key: tls.key, certificate: tls.cert },
    ])
      expect(await optional.register('m1', m1.credential, pair)).toMatchObject(refused('certificate-unknown'));
  });

  test.each([
    ['that-has-expired', { nowMs: Date.now() - 40 * DAY_MS, toMs: Date.now() - DAY_MS }],
    ['that-is-not-valid-yet', { nowMs: Date.now() + 2 * DAY_MS, toMs: Date.now() + 3 * DAY_MS }],
  ])('%s-is-refused, and-gets-a-new-one', async (_name, times) => {
    const pair = forgeCertificate(optional.authority(), 'm1', { kind: 'manager', ...times });
    expect(await optional.register('m1', m1.credential, pair)).toMatchObject(refused('certificate-expired'));
    expect(await optional.renewManager('m1', m1.credential, pair)).toMatchObject({ status: 200 });
  });

  test('opens-nothing-without-the-secret', async () => {
    for (const secret of [undefined, 'mst_tk-none_secret', `${m1.credential}x`]) {
      const shown = { pair: m1.pair, ...(secret !== undefined && { secret }), body: { holder: 'p', version: '1' } };
      expect((await optional.ask('PUT', '/api/v1/managers/m1', shown)).status).toBe(401);
    }
    expect(await optional.register('m1', m2.credential, m1.pair)).toMatchObject({ status: 403 });
    expect(await optional.renewManager('m1', m2.credential, m1.pair)).toMatchObject(refused('other-manager'));
  });

  test('counts-no-more-once-the-token-is-revoked', async () => {
    const joined = await optional.joinManager('m10');
    const id = tokenIdIn(joined.credential)!;
    expect(await optional.admin('DELETE', `/api/v1/tokens/${id}`)).toMatchObject({ status: 200 });
    expect(await optional.register('m10', joined.credential, joined.pair)).toMatchObject(refused('token-revoked', 401));
    expect(await optional.renewManager('m10', joined.credential, joined.pair)).toMatchObject({ status: 401 });
  });

  test('counts-no-more-once-the-manager-is-forgotten, nor-does-a-join-token-of-it', async () => {
    const joined = await optional.joinManager('m11');
    const token = await optional.managerJoinToken('m11');
    const { body } = await optional.register('m11', joined.credential, joined.pair);
    const tenure = { holder: 'p-m11', leaseEpoch: body['leaseEpoch'] };
    const released = { secret: joined.credential, pair: joined.pair, body: tenure };
    expect((await optional.ask('POST', '/api/v1/managers/m11/release', released)).body).toEqual({ released: true });
    expect(await optional.admin('DELETE', '/api/v1/managers/m11')).toMatchObject({ status: 200 });
    expect(await optional.register('m11', joined.credential, joined.pair)).toMatchObject(refused('token-revoked', 401));
    const again = { secret: token, body: { secret: newSecret() } };
    expect(await optional.ask('POST', '/api/v1/managers/m11/join', again)).toMatchObject({ status: 401 });
    // Under the same name, with a credential that is made anew.
    const later = await optional.joinManager('m11');
    expect(await optional.register('m11', later.credential, later.pair)).toMatchObject({ status: 200 });
  });
});

describe('a server that requires certificates of managers', () => {
  const TENURE = { holder: 'p-m1', leaseEpoch: 1 };
  const ACTION = { action: 'power-on', manager: 'm1', nodeEpoch: 1, instance: 'i1' };
  const CALLS: readonly [string, string, object | undefined][] = [
    ['PUT', '/api/v1/managers/m1', { holder: 'p-m1', version: '1' }],
    ['POST', '/api/v1/managers/m1/renew', TENURE],
    ['POST', '/api/v1/managers/m1/acquire', TENURE],
    ['GET', '/api/v1/managers/m1/tasks?holder=p-m1&leaseEpoch=1&waitMs=0', undefined],
    ['POST', '/api/v1/managers/m1/answers', { ...TENURE, task: 'a:b:1', outcome: 'done' }],
    ['POST', '/api/v1/managers/m1/release', TENURE],
    ['POST', '/api/v1/reservations', { instance_uuid: 'i1', manager: 'm1' }],
    ['DELETE', '/api/v1/reservations/i1', undefined],
    ['POST', '/api/v1/nodes/n1/actions', ACTION],
    ['GET', '/api/v1/nodes/n1/machine', undefined],
  ];

  test('refuses-managers-without-on-every-route-of-theirs', async () => {
    const { credential, pair } = await required.joinManager('m1');
    for (const [method, path, body] of CALLS) {
      const shown = { secret: credential, ...(body !== undefined && { body }) };
      const without = await required.ask(method, path, shown);
      expect([path, without.status, without.body.code]).toEqual([path, 403, 'certificate-required']);
      expect((await required.ask(method, path, { ...shown, pair })).body.code).not.toBe('certificate-required');
    }
  });

  test('issues-no-certificate-to-whoever-has-only-the-token', async () => {
    const { credential, pair } = await required.joinManager('m2');
    const renew = (shown: typeof pair): Promise<TlsAnswer> => required.renewManager('m2', credential, shown);
    expect(await renew(undefined)).toMatchObject(refused('certificate-required'));
    const forged = forgeCertificate(selfMadeAuthority(), 'm2', { kind: 'manager' });
    expect(await renew(forged)).toMatchObject(refused('certificate-unknown'));
    expect(await renew((await required.joinManager('m3')).pair)).toMatchObject(refused('certificate-of-other-manager'));
    expect(await renew((await required.join('m2')).pair)).toMatchObject(refused('certificate-of-other-manager'));
    expect(await renew(pair)).toMatchObject({ status: 200 });
    // One that was off for too long proves that it has the key of the certificate that it had.
    const times = { nowMs: Date.now() - 40 * DAY_MS, toMs: Date.now() - DAY_MS };
    expect(await renew(forgeCertificate(required.authority(), 'm2', { kind: 'manager', ...times }))).toMatchObject({
      status: 200,
    });
    const made = await required.admin('POST', '/api/v1/tokens', { name: 'm4', role: 'manager', manager: 'm4' });
    expect(await required.renewManager('m4', String(made.body['secret']), undefined)).toMatchObject(
      refused('certificate-required'),
    );
  });

  test('asks-agents-and-people-for-none', async () => {
    expect(await required.admin('GET', '/api/v1/managers')).toMatchObject({ status: 200 });
    const agent = await required.join('c1');
    expect(await required.heartbeat(agent.credential, undefined)).toMatchObject({ status: 200 });
  });
});
