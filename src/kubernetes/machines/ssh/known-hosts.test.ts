// Lines of known_hosts: which key is of which machine.
import { describe, expect, test } from 'vitest';
import { findHostKeys, orderHostKeyAlgorithms, parseHostKeyLine } from './known-hosts.ts';

const blobOf = (type: string, rest = 'x'): string => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(type.length);
  return Buffer.concat([length, Buffer.from(`${type}${rest}`)]).toString('base64');
};
const ED = `ssh-ed25519 ${blobOf('ssh-ed25519')}`;
const RSA = `ssh-rsa ${blobOf('ssh-rsa')}`;

describe('a line is a key, and the machines that it is of', () => {
  test.each([
    ['the key alone', ED, '10.0.0.5', true],
    ['with a comment', `${ED} root@image`, '10.0.0.5', true],
    ['of this machine', `10.0.0.5 ${ED}`, '10.0.0.5', true],
    ['of another', `10.0.0.55 ${ED}`, '10.0.0.5', false],
    ['of several', `a,10.0.0.5 ${ED}`, '10.0.0.5', true],
    ['in other letters', `Edge-1 ${ED}`, 'edge-1', true],
    ['by a pattern', `10.0.0.* ${ED}`, '10.0.0.5', true],
    ['a dot is no pattern', `10.0.0.5 ${ED}`, '10x0x0x5', false],
    ['all but it', `10.0.0.*,!10.0.0.5 ${ED}`, '10.0.0.5', false],
    ['of another port', `[10.0.0.5]:2222 ${ED}`, '10.0.0.5:2222', true],
    ['of the usual port alone', `10.0.0.5 ${ED}`, '10.0.0.5:2222', false],
  ])('%s', (_name, line, machine, isOf) => {
    const [host = '', port = '22'] = machine.split(':');
    expect(findHostKeys([line], host, Number(port))).toHaveLength(isOf ? 1 : 0);
  });
});

test.each([
  ['nothing', ''],
  ['a word', 'ssh-ed25519'],
  ['no base64', 'ssh-ed25519 %%%'],
  ['a key of another type', `ssh-ed25519 ${blobOf('ssh-rsa')}`],
  ['a type that signs with SHA-1 alone', `ssh-dss ${blobOf('ssh-dss')}`],
  ['hashed names', `|1|abc=|def= ${ED}`],
  ['a marker', `@revoked * ${ED}`],
  ['a private key', '-----BEGIN OPENSSH PRIVATE KEY-----'],
])('%s is no line that can be used', (_name, line) => {
  expect(parseHostKeyLine(line)).toBeUndefined();
  expect(findHostKeys([line], 'a', 22)).toEqual([]);
});

test('the-known-keys-of-a-machine-are-negotiated-first, and never SHA-1', () => {
  const [rsa] = findHostKeys([RSA], 'a', 22);
  if (rsa === undefined) throw new Error('no key');
  expect(orderHostKeyAlgorithms([rsa]).slice(0, 3)).toEqual(['rsa-sha2-512', 'rsa-sha2-256', 'ssh-ed25519']);
  expect(orderHostKeyAlgorithms([])).not.toContain('ssh-rsa');
});
