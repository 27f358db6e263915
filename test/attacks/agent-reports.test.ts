// An agent that lies, or sends what no agent sends: nothing that it says counts for another host, nothing malformed is half taken, and
// what it found that the fleet does not know is on record whatever else it says.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { idOf, put } from '../../src/fleet/index.ts';
import { HOST, type Host } from '../../src/hosts/index.ts';
import { ITEM } from '../../src/operations/index.ts';
import { idIn, prepareServer, type PreparedServer } from '../api/every-route.ts';
import { hostChange } from '../api/api-test-server.ts';

let prepared: PreparedServer;

beforeAll(async () => {
  prepared = await prepareServer();
});
afterAll(() => prepared.world.close());

const AGENT_OF = 'central-1';
const hostDoc = (name = AGENT_OF): Host | undefined => prepared.world.journal.fleet.get(HOST, idOf(HOST, name))?.doc;

async function say(path: string, payload: string | object) {
  const { world, secrets } = prepared;
  const headers = { 'content-type': 'application/json' };
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const url = `/api/v1/agent/${path}`;
  const answer = await world.call(secrets.get('agent'), { method: 'POST', url, payload: text, headers });
  await world.journal.idle();
  return answer;
}

const reportOf = (report: string): string =>
  `{"serviceVersion":1,"report":${report.replace('{', '{"strays":[],"problems":[],')}}`;

describe('a report that is not what reports are', () => {
  const deep = (levels: number): string => `{"facts":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`;
  test.each<[string, string]>([
    ['with a key of the prototype', reportOf('{"facts":{"__proto__":{"isAdmin":true}}}')],
    ['with a NUL', reportOf('{"facts":{"name":"a\\u0000b"}}')],
    ['with half of a character', reportOf('{"facts":{"name":"\\ud800"}}')],
    ['nested a hundred thousand levels deep', reportOf(deep(100_000))],
    ['with more facts than one host has', reportOf(`{"facts":{${facts(101)}}}`)],
    ['with more peers than BFD is reported of', reportOf(`{"facts":{},"bfdDownPeers":[${'"p",'.repeat(100)}"p"]}`)],
    ['with as many by the former name', reportOf(`{"facts":{},"unheardPeers":[${'"p",'.repeat(100)}"p"]}`)],
    ['with a field twice', reportOf('{"facts":{},"facts":{}}')],
    ['with a number that is too large for one', '{"serviceVersion":1e400}'],
    ['with a version that is not a number', '{"serviceVersion":"1"}'],
    ['that speaks for another host', '{"serviceVersion":1,"host":"central-0"}'],
    ['with a condition of a kind that is not known', conditions({ type: 'moon', code: 'x', message: 'm' })],
    ['with more conditions than there are parts', conditions(...Array.from({ length: 5 }, () => SWITCH_GONE))],
    ['with a text of a megabyte', conditions({ ...SWITCH_GONE, message: 'x'.repeat(900_000) })],
  ])('%s is refused and changes nothing', async (_name, text) => {
    const before = prepared.world.journal.fleet.revision;
    const { statusCode, body } = await say('heartbeat', text);
    expect([statusCode, body.length < 1500]).toEqual([400, true]);
    expect(prepared.world.journal.fleet.revision).toBe(before);
    expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
  });
});

const SWITCH_GONE = { type: 'switch', code: 'unreachable', message: 'm' };

function facts(count: number): string {
  return Array.from({ length: count }, (_, at) => `"f${at}":1`).join();
}

function conditions(...list: readonly object[]): string {
  return JSON.stringify({ serviceVersion: 1, conditions: list });
}

describe('never: strays are lost because the count beside them is none', () => {
  test.each(['"many"', '1.5', '1e999', '-1', 'null', '{}', '[1,2]', '1e300'])('%s', async (count) => {
    const { world, secrets } = prepared;
    // Of a host that leaves strays count at once.
    const draining = { state: 'draining' as const, credential: idIn(secrets.get('agent')) };
    await world.commit(hostChange(AGENT_OF, draining));
    const report = `{"facts":{"strays":${count}},"strays":["interface/tap0"],"problems":[]}`;
    expect((await say('heartbeat', `{"serviceVersion":1,"report":${report}}`)).statusCode).toBe(200);
    expect(hostDoc()?.strays).toMatchObject({ names: ['interface/tap0'], count: 1 });
    expect(world.logged()).not.toContain('cannot be recorded');
  });
});

describe('an agent that speaks of what is not its own', () => {
  test('never: it answers a task of another host', async () => {
    const { world } = prepared;
    const id = idOf(ITEM, 'op-1.central-0');
    const item = world.journal.fleet.get(ITEM, id)!.doc;
    await world.commit(put(ITEM, id, { ...item, host: 'central-0', state: 'running', step: 'preflight' }));
    const before = world.journal.fleet.revision;
    const tasks = ['op-1.central-0:central-0:1', 'op-1.central-0:central-1:1', 'op-1.central-0', '__proto__', ':::'];
    const { body } = await say('observations', { answers: tasks.map((task) => ({ task, outcome: 'failed' })) });
    const { results } = JSON.parse(body) as { results: { result: string }[] };
    expect(results.map(({ result }) => result)).toEqual(tasks.map(() => 'stale'));
    expect(world.journal.fleet.revision).toBe(before);
  });

  test('never: another host is distrusted because it claims to have its switch', async () => {
    const other = hostDoc('central-0');
    expect(other?.switch?.datapathId).toBe('00000000000000c0');
    const claimed = reportOf('{"facts":{},"switch":{"datapathId":"00000000000000c0"}}');
    // One thing at a time is written down of each host: the first may still be that its strays are gone.
    for (const _ of [1, 2]) expect((await say('heartbeat', claimed)).statusCode).toBe(200);
    expect(hostDoc()?.quarantined).toMatchObject({ because: 'identity', as: 'central-0' });
    expect(hostDoc('central-0')).toEqual(other);
  });

  test.each(['bfdDownPeers', 'unheardPeers'])(
    'never: a host is lost because hosts that are no peers of it say so (%s)',
    async (field) => {
      const before = prepared.world.journal.fleet.revision;
      const report = reportOf(`{"facts":{},"${field}":["central-0","central-0","north-0","__proto__"]}`);
      expect((await say('heartbeat', report)).statusCode).toBe(200);
      expect(prepared.world.journal.fleet.revision).toBe(before);
    },
  );
});
