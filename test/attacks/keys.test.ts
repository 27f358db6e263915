// The keys of a control plane: closed to others, rotated without an interruption, never in the journal or in an answer.
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { authoritiesOf, signerOf } from './key-files.ts';
import { isHolderSigned, updateTrust, trustAtJoin } from '../../src/agent/node/trust.ts';
import { verifyEd25519 } from '../../src/agent/protocol/ed25519.ts';
import { signStatement } from '../../src/agent/protocol/statement.ts';
import type { SignedText, Signer } from '../../src/link/signed-text.ts';
import { StatementIssuer } from '../../src/agent/server/statement-issuer.ts';
import { KEY_FILE, newKeys, rotateKeys } from '../../src/main/key-file.ts';
import { newFolder, run, startServer } from '../cli/muster.ts';

const DAY_MS = 24 * 3600 * 1000;

describe('a rotation', () => {
  const sign = (signer: Signer): SignedText =>
    new StatementIssuer({
      journalId: () => 'j',
      signer: () => signer,
      servers: () => ['https://m1'],
    }).signControlPlane()!;
  const link = { isAuthenticated: false, verify: verifyEd25519 };
  const first = newKeys(0);
  const second = rotateKeys(first, DAY_MS, 7 * DAY_MS);

  test('is-learnt-over-plain-http-by-agents-that-know-the-key-before', () => {
    const known = trustAtJoin(sign(signerOf(first, 0)))!;
    const learnt = updateTrust(known, sign(signerOf(second, DAY_MS)), link)!;
    expect(learnt).toMatchObject({ serial: 2, keys: [{ id: second.signing[0]?.id }, { id: first.signing[0]?.id }] });
    const after = updateTrust(learnt, sign(signerOf(second, 9 * DAY_MS)), link)!;
    expect(after.keys.map(({ id }) => id)).toEqual([second.signing[0]?.id]);
  });

  test('leaves-no-moment-in-which-a-server-is-not-believed', () => {
    const known = trustAtJoin(sign(signerOf(first, 0)))!;
    const learnt = updateTrust(known, sign(signerOf(second, DAY_MS)), link)!;
    const isTrusted = (keys: typeof first, trust: typeof known): boolean => {
      const statement = { kind: 'holder' as const, journalId: 'j', url: 'https://m2', leaseEpoch: 3 };
      const signed = signStatement(signerOf(keys, 2 * DAY_MS), statement);
      return isHolderSigned(trust, { holder: 'https://m2', signed, verify: verifyEd25519 }, 3);
    };
    // Whether the server has the new keys or not, and whether the agent knows them or not.
    for (const keys of [first, second]) for (const trust of [known, learnt]) expect(isTrusted(keys, trust)).toBe(true);
    expect(authoritiesOf(second, 2 * DAY_MS)).toHaveLength(2);
    expect(authoritiesOf(second, 9 * DAY_MS)).toHaveLength(1);
  });

  test('by-another-key-or-from-before-is-not-learnt', () => {
    const known = trustAtJoin(sign(signerOf(second, DAY_MS)))!;
    expect(updateTrust(known, sign(signerOf({ ...newKeys(0), serial: 9 }, 0)), link)).toBe(known);
    expect(updateTrust(known, sign(signerOf(first, 0)), link)).toBe(known);
    expect(updateTrust(undefined, sign(signerOf(first, 0)), link)).toBeUndefined();
    // A link that authenticates the server is as good as a key.
    const secure = { ...link, isAuthenticated: true };
    expect(updateTrust(undefined, sign(signerOf(first, 0)), secure)).toMatchObject({ serial: 1 });
  });
});

describe('a journal that a backup was restored into', () => {
  const keys = newKeys(0);
  const link = { isAuthenticated: false, verify: verifyEd25519 };
  const sign = (journalId: string, succeeds: readonly string[] = [], of = keys): SignedText =>
    new StatementIssuer({
      journalId: () => journalId,
      signer: () => signerOf(of, 0),
      succeeds: () => succeeds,
    }).signControlPlane()!;
  const known = trustAtJoin(sign('j1'))!;

  test('is-followed-when-the-control-plane-says-that-it-continues-the-known-one', () => {
    expect(updateTrust(known, sign('j3', ['j2', 'j1']), link)).toMatchObject({ journalId: 'j3' });
  });

  test.each<[string, SignedText]>([
    ['continues-none', sign('j3')],
    ['continues-another', sign('j3', ['j2'])],
    ['is-named-by-another-key', sign('j3', ['j1'], newKeys(0))],
  ])('is-not-followed-when-it-%s', (_name, signed) => {
    expect(updateTrust(known, signed, link)).toBe(known);
  });

  test('is-never-left-for-the-one-before', () => {
    const restored = updateTrust(known, sign('j2', ['j1']), link)!;
    expect(updateTrust(restored, sign('j1'), link)).toBe(restored);
    expect(updateTrust(restored, sign('j1'), { ...link, isAuthenticated: true })).toBe(restored);
  });
});

test('keys-are-closed-to-others-rotated-by-command-and-read-by-a-running-server', async () => {
  const server = await startServer(newFolder());
  await server.said(/recorded which keys/);
  const file = join(server.data, KEY_FILE);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const secret = /"privateKey": "([^"]+)"/.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
  expect(secret.length).toBeGreaterThan(50);
  const shown = await server.muster('keys', 'show');
  expect(shown).toMatchObject({ code: 0 });
  expect(shown.out).toContain('serial 1');
  const rotated = await server.json<{ serial: number; keys: { use: string; until?: string }[] }>('keys', 'rotate');
  expect(rotated.serial).toBe(2);
  expect(rotated.keys.map(({ use, until }) => `${use} ${until === undefined ? 'current' : 'until'}`)).toEqual([
    'signing current',
    'signing until',
    'agent certificates current',
    'agent certificates until',
  ]);
  for (const text of [shown.out, JSON.stringify(rotated), server.out(), server.err()]) {
    expect(text).not.toContain('PRIVATE KEY');
    expect(text).not.toContain(secret.slice(40, 80));
  }
  server.child.kill('SIGHUP');
  await server.said(/keys were reloaded/);
  expect(await server.stop()).toMatchObject({ code: 0 });
  const journal = readFileSync(join(server.data, 'muster.db')).toString('latin1');
  expect(journal).not.toContain('PRIVATE KEY');

  chmodSync(file, 0o644);
  const open = await run(['keys', 'show', '--data', server.data]);
  expect(open).toMatchObject({ code: 1, out: '' });
  expect(open.err).toContain(`${file} is open to other users (mode 644)`);
  expect(open.err).toContain(`chmod 600 ${file}`);
  rmSync(file);
  const without = await run(['serve', '--data', server.data, '--listen', '127.0.0.1:0']);
  expect(without).toMatchObject({ code: 1 });
  expect(without.err).toContain('This control plane has keys');
  expect(without.err).toContain(`muster keys create --keys ${server.data}`);
  writeFileSync(file, '{}', { mode: 0o600 });
  expect((await run(['serve', '--data', server.data, '--listen', '127.0.0.1:0'])).err).toContain('Copy it again');
});

test('lost-keys-are-replaced-and-never-those-that-are-there', async () => {
  const server = await startServer(newFolder());
  await server.said(/recorded which keys/);
  const over = await server.muster('keys', 'create');
  expect(over).toMatchObject({ code: 1, err: expect.stringContaining('muster keys rotate') as string });
  await server.stop();
  rmSync(join(server.data, KEY_FILE));
  expect(await run(['keys', 'create', '--data', server.data])).toMatchObject({ code: 0 });
  const again = await startServer(server.data);
  await again.said(/recorded which keys/);
  expect(await again.json('alarms')).toEqual([]);
  expect(await again.stop()).toMatchObject({ code: 0 });
});
