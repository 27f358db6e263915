// What a signed statement proves: exactly what it says, of this journal, this host and this credential. Each field is another one once.
import { describe, expect, test } from 'vitest';
import { fakeSigner, verifyFake } from '../protocol/signer-fixture.ts';
import { signStatement, type Statement } from '../protocol/statement.ts';
import { isHolderSigned, isRefusalAuthentic, authenticateView, type Trust, type ViewAuthenticity } from './trust.ts';

const signer = fakeSigner();
const TRUST: Trust = { journalId: 'j', serial: 1, keys: [...signer.keys], servers: [] };
const OVER_HTTP = { isAuthenticated: false, verify: verifyFake };

interface ViewCase {
  readonly computed?: string;
  readonly trust?: Trust | 'none';
  readonly isAuthenticated?: boolean;
}

type StatementFields<K extends Statement['kind']> = Partial<Omit<Extract<Statement, { kind: K }>, 'kind'>>;

describe('a refusal over plain HTTP', () => {
  const isProven = (said: StatementFields<'refusal'>, by = signer): boolean =>
    isRefusalAuthentic(TRUST, {
      ...OVER_HTTP,
      ...{ host: 'h', token: 't', code: 'host-removed' },
      signed: signStatement(by, {
        kind: 'refusal',
        ...{ journalId: 'j', host: 'h', token: 't', code: 'host-removed' },
        ...said,
      }),
    });

  test('counts-when-it-is-signed-for-this-credential', () => expect(isProven({})).toBe(true));

  test.each<StatementFields<'refusal'>>([{ journalId: 'k' }, { host: 'i' }, { token: 'u' }, { code: 'token-revoked' }])(
    'that says %j does not',
    (said) => expect(isProven(said)).toBe(false),
  );

  test('that-another-key-has-signed-does-not', () => expect(isProven({}, fakeSigner(['key-2']))).toBe(false));
});

describe('a view over plain HTTP', () => {
  const stamp = { journalId: 'j', leaseEpoch: 3, revision: 7 };
  const authenticate = (
    said: StatementFields<'view'>,
    { computed = 'd', trust = TRUST, isAuthenticated = false }: ViewCase = {},
  ): ViewAuthenticity =>
    authenticateView(trust === 'none' ? undefined : trust, {
      ...OVER_HTTP,
      isAuthenticated,
      token: 't',
      view: { host: 'h', digest: 'd', stamp },
      digest: () => computed,
      signed: signStatement(signer, { kind: 'view', host: 'h', token: 't', digest: 'd', ...stamp, ...said }),
    });

  test('is-authentic-when-it-is-signed-as-it-is', () => expect(authenticate({})).toBe('authentic'));

  test.each<StatementFields<'view'>>([
    { journalId: 'k' },
    { host: 'i' },
    { token: 'u' },
    { leaseEpoch: 2 },
    { revision: 8 },
    { digest: 'e' },
  ])('whose statement says %j is not', (said) => expect(authenticate(said)).toBe('not-authentic'));

  test('whose-content-has-another-digest-is-not', () =>
    expect(authenticate({}, { computed: 'e' })).toBe('not-authentic'));

  test('is-unverifiable-where-no-key-is-known-whoever-signed-it', () => {
    expect(authenticate({}, { trust: 'none' })).toBe('unverifiable');
    expect(authenticate({}, { trust: 'none', isAuthenticated: true })).toBe('authentic');
  });
});

describe('a holder that a server names', () => {
  const isTrusted = (said: StatementFields<'holder'>): boolean =>
    isHolderSigned(
      TRUST,
      {
        holder: 'https://m2',
        verify: verifyFake,
        signed: signStatement(signer, {
          kind: 'holder',
          ...{ journalId: 'j', url: 'https://m2', leaseEpoch: 3 },
          ...said,
        }),
      },
      3,
    );

  test.each<StatementFields<'holder'>>([{}, { leaseEpoch: 4 }])('is followed (%j)', (said) =>
    expect(isTrusted(said)).toBe(true),
  );

  test.each<StatementFields<'holder'>>([{ journalId: 'k' }, { url: 'https://m3' }, { leaseEpoch: 2 }])(
    'is not when the statement says %j',
    (said) => expect(isTrusted(said)).toBe(false),
  );
});
