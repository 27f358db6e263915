// The file with the keys that seal secrets: made when it is needed, closed to others, changed key by key, and never replaced by another one unnoticed.
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SEALED, sealingKeyOf, SecretMask } from '../access/index.ts';
import { compileChecker } from '../fleet/index.ts';
import { SECRET_KEY_FILE, SecretKeys, type SecretKeysOptions } from './secret-keys.ts';

const OWNER = { kind: 'vault', id: 'one' };
const TEXT = 'a secret with ü and "quotes"';

let folder: string;
let path: string;
let logged: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-secret-keys-'));
  path = join(folder, SECRET_KEY_FILE);
  logged = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function newKey(): string {
  return randomBytes(32).toString('base64');
}

function writeFile(...lines: readonly string[]): void {
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 });
}

function openKeys(options: Partial<SecretKeysOptions> = {}): SecretKeys {
  const note = (facts: object, text: string): void => void logged.push(`${text} ${JSON.stringify(facts)}`);
  const log = { info: note, warn: note, error: note };
  return new SecretKeys({ path, makesKey: true, listUsedKeys: () => [], mask: new SecretMask(), log, ...options });
}

function sealedBy(keys: SecretKeys, text = TEXT): string {
  const made = keys.seal(OWNER, text);
  if ('refusal' in made) throw new Error(made.refusal.message);
  return made.sealed;
}

function opened(keys: SecretKeys, sealed: string, owner = OWNER): string | undefined {
  const found = keys.unseal(owner, sealed);
  return found.kind === 'secret' ? found.secret.reveal() : found.reason.code;
}

const keyOf = (sealed: string): string => sealingKeyOf(sealed) ?? '';

describe('the first secret', () => {
  test('makes-the-key, which is closed to others and opens what it sealed after a restart', () => {
    const keys = openKeys();
    expect(existsSync(path)).toBe(false);
    const sealed = sealedBy(keys);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(sealed).not.toContain(TEXT);
    expect(opened(openKeys({ listUsedKeys: () => [keyOf(sealed)] }), sealed)).toBe(TEXT);
    expect(logged).toEqual([expect.stringContaining('keep a copy elsewhere') as string]);
    expect(logged.join()).not.toContain(readFileSync(path, 'utf8').split('\n')[1]);
  });

  test('is-refused-where-another-server-has-to-have-the-same-key', () => {
    expect(openKeys({ makesKey: false }).seal(OWNER, TEXT)).toMatchObject({
      refusal: { kind: 'conflict', code: 'secret-key-missing' },
    });
    expect(openKeys({ path: undefined }).seal(OWNER, TEXT)).toMatchObject({ refusal: { code: 'secret-key-missing' } });
    expect(existsSync(path)).toBe(false);
  });

  test('uses-the-key-that-another-process-has-made-meanwhile', () => {
    const [one, other] = [openKeys(), openKeys()];
    expect(keyOf(sealedBy(other))).toBe(keyOf(sealedBy(one)));
  });
});

describe('a sealed secret', () => {
  test('is-never-the-same-twice, and opens for its document alone', () => {
    const keys = openKeys();
    const [one, two] = [sealedBy(keys), sealedBy(keys)];
    expect(one).not.toBe(two);
    expect(opened(keys, one)).toBe(TEXT);
    expect(opened(keys, one, { ...OWNER, id: 'two' })).toBe('secret-damaged');
    expect(opened(keys, one, { ...OWNER, kind: 'token' })).toBe('secret-damaged');
    // Names that run into each other are still two.
    expect(opened(keys, one, { kind: 'vaul', id: 'tone' })).toBe('secret-damaged');
  });

  test('does-not-open-once-a-character-of-it-is-another', () => {
    const keys = openKeys();
    const sealed = sealedBy(keys);
    for (const at of [24, 40, 60, sealed.length - 2]) {
      const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
      expect(opened(keys, changed)).toBe('secret-damaged');
    }
    expect(opened(keys, sealed.slice(0, -8))).toBe('secret-damaged');
  });

  test('is-known-to-the-mask, whether it was sealed or opened', () => {
    const [sealing, opening] = [new SecretMask(), new SecretMask()];
    const sealed = sealedBy(openKeys({ mask: sealing }));
    expect(sealing.mask(`no ${TEXT}`)).toBe('no [secret]');
    opened(openKeys({ mask: opening }), sealed);
    expect(opening.mask(`no ${TEXT}`)).toBe('no [secret]');
  });

  test('of-nothing-and-of-a-certificate-opens-as-well', () => {
    const keys = openKeys();
    for (const text of ['', 'x'.repeat(24_000)]) expect(opened(keys, sealedBy(keys, text))).toBe(text);
    expect(compileChecker(SEALED)(sealedBy(keys, 'x'.repeat(24_000)))).toEqual([]);
    expect(keys.seal(OWNER, 'ü'.repeat(12_001))).toMatchObject({ refusal: { code: 'secret-too-long' } });
  });
});

describe('a change of key', () => {
  test('seals-by-the-first-and-opens-by-all-of-them', () => {
    const [before, after] = [newKey(), newKey()];
    writeFile(before);
    const old = sealedBy(openKeys());
    writeFile('# the new one first', after, '', before);
    const keys = openKeys({ listUsedKeys: () => [keyOf(old)] });
    expect(opened(keys, old)).toBe(TEXT);
    expect(keyOf(sealedBy(keys))).not.toBe(keyOf(old));
    expect(keys.keyIds()).toEqual([keyOf(sealedBy(keys)), keyOf(old)]);
  });

  test('is-read-without-a-restart, and not when it lacks a key that is needed or is damaged', () => {
    const [before, after] = [newKey(), newKey()];
    writeFile(before);
    const used: string[] = [];
    const keys = openKeys({ listUsedKeys: () => used });
    used.push(keyOf(sealedBy(keys)));
    writeFile(after, before);
    keys.reload();
    expect(keyOf(sealedBy(keys))).not.toBe(used[0]);
    const good = keys.keyIds();
    for (const wrong of [[after], ['nonsense']]) {
      writeFile(...wrong);
      keys.reload();
      expect(keys.keyIds()).toEqual(good);
    }
    expect(logged.filter((line) => line.includes('cannot be reloaded'))).toHaveLength(2);
  });
});

describe('a server', () => {
  test('with-another-key-does-not-start, and says which it needs', () => {
    writeFile(newKey());
    const used = keyOf(sealedBy(openKeys()));
    writeFile(newKey());
    expect(() => openKeys({ listUsedKeys: () => [used] })).toThrow(
      `The secrets of this fleet were sealed by key ${used}, and ${path} has `,
    );
  });

  test('without-any-runs, makes none, and refuses what needs it', () => {
    const sealed = sealedBy(openKeys());
    rmSync(path);
    const keys = openKeys({ listUsedKeys: () => [keyOf(sealed)] });
    expect(keys.unseal(OWNER, sealed)).toEqual({
      kind: 'failed',
      reason: { code: 'secret-key-missing', key: keyOf(sealed) },
    });
    expect(keys.seal(OWNER, TEXT)).toMatchObject({
      refusal: { code: 'secret-key-missing', message: expect.stringContaining(keyOf(sealed)) as string },
    });
    expect(existsSync(path)).toBe(false);
    expect(logged.at(-1)).toContain('does not have the key');
  });

  test('with-a-key-of-its-own-seals-nothing-beside-what-another-server-sealed', () => {
    const used: string[] = [];
    const keys = openKeys({ listUsedKeys: () => used });
    sealedBy(keys);
    used.push('0123456789abcdef');
    expect(keys.seal(OWNER, TEXT)).toMatchObject({ refusal: { code: 'secret-key-missing' } });
  });

  test.each<[string, readonly string[], RegExp]>([
    ['nothing-in-it', ['# only a comment', ''], /has no key/],
    ['a-key-that-is-too-short', [randomBytes(16).toString('base64')], /Line 1 of .* is not a key/],
    ['a-key-in-another-form', ['', randomBytes(32).toString('hex')], /Line 2 of .* is not a key/],
    ['too-many-keys', Array.from({ length: 17 }, newKey), /more than 16 keys/],
  ])('does-not-start-on-a-file-with-%s, which is not quoted', (_name, lines, sentence) => {
    writeFile(...lines);
    expect(() => openKeys()).toThrow(sentence);
    for (const line of lines.filter((one) => one.length > 12 && !one.startsWith('#')))
      expect(() => openKeys()).not.toThrow(line);
  });

  test('does-not-start-on-a-file-that-others-can-read, nor by a link to one', () => {
    writeFile(newKey());
    chmodSync(path, 0o640);
    expect(() => openKeys()).toThrow(`chmod 600 ${path}`);
    const link = join(folder, 'link.key');
    symlinkSync(path, link);
    expect(() => openKeys({ path: link })).toThrow('open to other users');
  });
});
