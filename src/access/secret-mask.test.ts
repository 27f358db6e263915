// What others repeat of a secret is taken out, in whatever form they repeat it.
import { describe, expect, test } from 'vitest';
import { SecretMask } from './secret-mask.ts';

const SECRET = 'p4ss/w"rd+ü?secret';

function maskOf(...secrets: readonly string[]): SecretMask {
  const mask = new SecretMask();
  for (const secret of secrets) mask.add(secret);
  return mask;
}

describe('a secret is taken out', () => {
  test.each([
    ['as it is', (secret: string) => `401: ${secret} is wrong`],
    ['in JSON', (secret: string) => JSON.stringify({ secret })],
    ['in an address', (secret: string) => `https://h/?token=${encodeURIComponent(secret)}`],
    ['in base64', (secret: string) => Buffer.from(secret).toString('base64')],
    ['in base64 for addresses', (secret: string) => Buffer.from(secret).toString('base64url')],
    ['in a basic header', (secret: string) => `Basic ${Buffer.from(`a:${secret}`).toString('base64')}`],
    ['in another basic header', (secret: string) => `Basic ${Buffer.from(`ab:${secret}x`).toString('base64')}`],
    ['in a third basic header', (secret: string) => `Basic ${Buffer.from(`abc:${secret}xy`).toString('base64')}`],
  ])('%s', (_name, write) => {
    const text = write(SECRET);
    const masked = maskOf(SECRET).mask(text);
    expect(masked).toContain('[secret]');
    expect(masked).not.toContain(SECRET);
    // Not even most of it, encoded.
    for (const form of ['base64', 'base64url'] as const)
      expect(masked).not.toContain(Buffer.from(SECRET).toString(form).slice(4, -4));
  });

  test('by its lines, where it has several', () => {
    const pem =
      '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----\n';
    const masked = maskOf(pem).mask('bad line AQEFAASCBKcwggSjAgEAAoIB after -----BEGIN PRIVATE KEY-----');
    expect(masked).toBe('bad line [secret] after -----BEGIN PRIVATE KEY-----');
  });

  test('of all that are known, a longer one first', () => {
    expect(maskOf('longer-secret-1', 'longer-secret').mask('longer-secret-1 longer-secret')).toBe('[secret] [secret]');
  });

  test('at any depth of a value, and nothing else of it', () => {
    const mask = maskOf('longer-secret');
    const value = { code: 'x', text: 'no longer-secret', list: ['longer-secret', 7, null], 'longer-secret': true };
    expect(mask.maskDeep(value)).toEqual({
      code: 'x',
      text: 'no [secret]',
      list: ['[secret]', 7, null],
      '[secret]': true,
    });
    expect(new SecretMask().maskDeep(value)).toBe(value);
  });
});

test('words-are-left-alone: a secret that is as short as one is not looked for', () => {
  expect(maskOf('active', '').mask('it is active')).toBe('it is active');
});

test('no-more-are-kept-than-can-be-searched-for', () => {
  const mask = new SecretMask();
  for (let nth = 0; nth < 6000; nth += 1) mask.add(`secret-number-${nth}-of-many`);
  expect(mask.mask('secret-number-5999-of-many')).toBe('[secret]');
  expect(mask.mask('secret-number-1-of-many')).toBe('secret-number-1-of-many');
});
