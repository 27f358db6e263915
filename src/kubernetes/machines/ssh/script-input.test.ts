// What is sent to a machine: everything that differs is input, and nothing of it is a command.
import { expect, test } from 'vitest';
import { composeCommand, composeInput } from './script-input.ts';

const CALL = {
  ...{ cluster: 'edge', node: 'edge-1', providerId: 'muster:///edge/edge-1', endpoint: '10.0.0.1:6443' },
  ...{ caPin: 'sha256:00', version: 'v1.20.2', token: 'abcdef.0123456789abcdef' },
};

test('the-command-is-the-same-for-all, and has no quote that a login shell could take for its own', () => {
  const command = composeCommand('join', {});
  expect(command).toMatch(/^exec bash --norc -c '[^']+' muster-worker join$/);
  expect(command).not.toMatch(/[`\n]/);
  expect(composeCommand('leave', { sudo: true })).toMatch(
    /^exec sudo -n -- bash --norc -c '[^']+' muster-worker leave$/,
  );
});

test('the-token-is-given-to-the-join-alone, and is not exported', () => {
  const join = composeInput('run', CALL, 'join');
  expect(join).toContain(`\nMUSTER_TOKEN='abcdef.0123456789abcdef'\nrun\n\0`);
  expect(join).not.toContain('export MUSTER_TOKEN');
  for (const action of ['install', 'leave'] as const) expect(composeInput('run', CALL, action)).not.toContain('abcdef');
});

test('values-are-quoted, and a script has one end', () => {
  const input = composeInput('a\0b', { ...CALL, providerId: `x'; touch y; '` }, 'join');
  expect(input).toContain(String.raw`export MUSTER_PROVIDER_ID='x'\''; touch y; '\'''`);
  expect(input.indexOf('\0')).toBe(input.length - 1);
});
