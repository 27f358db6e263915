// Credentials of network back ends: read from a file, never printed, and one warning when they are missing.
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ALARM, alarmsModel } from '../../alarms/index.ts';
import { Fleet, Registry } from '../../fleet/index.ts';
import { explainer } from '../../operations/index.ts';
import { backEndSentences } from './sentences.ts';
import {
  isMissingCredentials,
  hasCredentials,
  findMissingCredentials,
  updateCredentialsAlarm,
  parseCredentials,
  type Credentials,
} from './credentials.ts';

const FILE = 'simulated:\n  user: muster\n  secret: hunter2-hunter2\n';

function parseOrThrow(text: string): Credentials {
  const credentials = parseCredentials(text);
  if ('problems' in credentials) throw new Error(credentials.problems.join('; '));
  return credentials;
}

describe('the file', () => {
  test.each([
    ['yaml', FILE],
    ['json', '{"simulated": {"user": "muster", "secret": "hunter2-hunter2"}}'],
  ])('is read as %s', (_, text) => {
    const credential = parseOrThrow(text).get('simulated');
    expect(credential?.user).toBe('muster');
    expect(credential?.secret.reveal()).toBe('hunter2-hunter2');
  });

  test('never: a secret is printed', () => {
    const credentials = parseOrThrow(FILE);
    const printed = [
      inspect(credentials, { depth: 9 }),
      JSON.stringify([...credentials]),
      String(credentials.get('simulated')?.secret),
    ];
    expect(printed.join()).not.toContain('hunter2');
  });

  test.each([
    ['', ['the file must name at least one back end with its credentials, as in "simulated: { user: …, secret: … }"']],
    ['- hunter2', [expect.stringContaining('must name at least one back end')]],
    ['a: *nowhere-hunter2', [expect.stringContaining('must name at least one back end')]],
    ['simulated:\n  user: "hunter2', ['line 2 is neither YAML nor JSON (missing-char)']],
    ['simulated: hunter2', [expect.stringMatching(/^\/simulated: /)]],
    ['simulated: { user: muster }', ['/simulated/secret: is required']],
    ['simulated: { user: muster, secret: "" }', [expect.stringMatching(/^\/simulated\/secret: /)]],
    ['simulated: { user: muster, secret: 12345678 }', [expect.stringMatching(/^\/simulated\/secret: /)]],
    ['simulatd: { user: muster, secret: hunter2 }', ['/simulatd: is not a known field (did you mean "simulated"?)']],
    ['embedded: { user: muster, secret: hunter2 }', [expect.stringContaining('/embedded: is not a known field')]],
  ])('%j is refused without quoting its content', (text, problems) => {
    const refused = parseCredentials(text);
    expect(refused).toEqual({ problems });
    expect(JSON.stringify(refused)).not.toMatch(/hunter2|12345678/);
  });
});

describe('what is missing', () => {
  test('only back ends that need credentials are reported as lacking them', () => {
    expect(isMissingCredentials(['embedded', 'host-local'], false)).toBe(false);
    expect(isMissingCredentials(['embedded', 'simulated'], false)).toBe(true);
    expect(isMissingCredentials(['simulated'], true)).toBe(false);
    expect(findMissingCredentials(['embedded', 'simulated', 'simulated'], new Map())).toEqual(['simulated']);
    expect([hasCredentials(new Map()), hasCredentials(parseOrThrow(FILE))]).toEqual([false, true]);
  });

  test('scheduling-34: a hundred builds without credentials raise one warning, which is cleared with its cause', () => {
    const fleet = new Fleet(new Registry([alarmsModel]));
    let commits = 0;
    for (let build = 0; build < 100; build += 1) {
      const changes = updateCredentialsAlarm(fleet, isMissingCredentials(['simulated'], false), 1000 + build);
      if (changes.length > 0) fleet.apply((commits += 1), changes);
    }
    const alarms = [...fleet.all(ALARM)];
    expect([commits, alarms.length]).toEqual([1, 1]);
    expect(alarms[0]?.doc).toMatchObject({ severity: 'warning', sinceMs: 1000 });
    expect(explainer([backEndSentences])(alarms[0]!.doc.reason)).toMatchInlineSnapshot(
      `"This server has no credentials for the network back end simulated: hosts create and bind ports themselves, as before. Give it some with --network-credentials; the next release requires them."`,
    );
    fleet.apply(2, updateCredentialsAlarm(fleet, false, 2000));
    expect(fleet.count(ALARM)).toBe(0);
    expect(updateCredentialsAlarm(fleet, false, 2000)).toEqual([]);
  });
});
