// An agent that joined before its control plane had keys: nothing on a plain link can be distinguished from a forgery there. It continues with the
// views that it is sent, and no view that was forged on the way removes its host.
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { TestHost } from '../../src/agent/node/agent-fixture.ts';
import { HttpLink } from '../../src/agent/node/http-link.ts';
import { sealJson } from '../../src/link/state/sealed-json.ts';
import type { View } from '../../src/agent/protocol/messages.ts';
import type { TaskAnswer } from '../../src/operations/index.ts';
import { verifyEd25519 } from '../../src/agent/protocol/ed25519.ts';
import { selfSigned } from '../self-signed.ts';
import { joined, QUIET, startForeignServer, type HostileHandler } from './hostile-link.ts';

const WAIT_MS = 20_000;
const LEAVE = { id: 'x:c1:1', kind: 'leave', args: { force: true } };
const ENDING = [
  { id: 'x:v1:1', kind: 'destroy', args: { instance: 'v1', ports: 'keep', nics: [] } },
  { id: 'x:v1:2', kind: 'migrate', args: { instance: 'v1', target: 'c9', kind: 'live', nics: [] } },
  { id: 'x:v1:3', kind: 'stop', args: { instance: 'v1' } },
  { id: 'x:v1:4', kind: 'of-another-module', args: {} },
  LEAVE,
];

async function forgetKeys(rack: TestHost): Promise<void> {
  const identity = JSON.parse((await rack.disk.read('identity'))!) as { current: { trust?: object } };
  delete identity.current.trust;
  await rack.disk.write('identity', sealJson({ current: identity.current }));
}

async function storedView(rack: TestHost): Promise<{ readonly token: string; readonly view: View }> {
  const { token, view } = JSON.parse((await rack.disk.read('view'))!) as { token: string; view: View };
  return { token, view };
}

/** The host's own view with tasks that the control plane has not sent. */
async function forgeTasks(rack: TestHost, tasks: View['tasks'] = [LEAVE]): Promise<View> {
  const { view } = await storedView(rack);
  return {
    ...view,
    stamp: { ...view.stamp, revision: view.stamp.revision + 10 },
    digest: 'forged',
    tasks,
  };
}

interface RepeatingServer {
  readonly handle: HostileHandler;
  /** How many requests came, by the last word of their path. */
  readonly requests: Map<string, number>;
}

/** Answers every poll with the same. */
function answerViews(answer: object): RepeatingServer {
  const requests = new Map<string, number>();
  return {
    requests,
    handle: (request, response) => {
      const route = /\/agent\/(\w+)/.exec(request.url ?? '')?.[1] ?? '';
      requests.set(route, (requests.get(route) ?? 0) + 1);
      if (route === 'view') response.end(JSON.stringify(answer));
      else response.end(route === 'observations' ? '{"results":[]}' : '{"report":"known"}');
    },
  };
}

describe('an agent without a key of its control plane, over plain http', () => {
  test('goes-on-with-its-views-and-says-what-to-do', async () => {
    const { plane, url, rack, restart } = await joined();
    await forgetKeys(rack);
    const agent = await restart(url);
    await vi.waitFor(() => expect(agent.status().problems.join()).toContain('no key of its control plane'), WAIT_MS);
    expect(agent.status().problems.join()).toContain('Use HTTPS, or join this host again');
    const before = agent.status().digest;
    await plane.edit('c1', { zone: 'other' });
    await vi.waitFor(() => expect(agent.status().applied).toBe(agent.status().digest), WAIT_MS);
    await vi.waitFor(() => expect(agent.status().digest).not.toBe(before), WAIT_MS);
  });

  test('neither-leaves-nor-ends-instances-by-a-view-without-a-signature', async () => {
    const { rack, restart } = await joined();
    await forgetKeys(rack);
    const harmless = { id: 'x:c1:2', kind: 'preflight', args: {} };
    const { handle } = answerViews({ kind: 'view', view: await forgeTasks(rack, [...ENDING, harmless]) });
    const man = await startForeignServer(handle);
    const agent = await restart(man.url);
    const answers = async (): Promise<readonly TaskAnswer[]> =>
      (JSON.parse((await rack.disk.read('answers')) ?? '{}') as { answers?: TaskAnswer[] }).answers ?? [];
    await vi.waitFor(async () => expect(await answers()).toHaveLength(ENDING.length + 1), WAIT_MS);
    expect(agent.status().digest).toBe('forged');
    // Who really sent such a task reads why it is not carried out.
    for (const { id, kind } of ENDING) {
      const answer = (await answers()).find(({ task }) => task === id);
      expect(answer?.outcome).toBe('failed');
      expect(answer?.problems?.join()).toMatch(new RegExp(`does not carry out .${kind}.*Use HTTPS`));
      expect(rack.driver.performed).not.toContain(id);
    }
    expect(rack.driver.performed).toContain(harmless.id);
    expect(await rack.disk.read('identity')).not.toContain('"leaving"');
  });

  test('leaves-by-a-task-that-comes-over-tls', async () => {
    const tls = await selfSigned();
    const { rack } = await joined();
    await forgetKeys(rack);
    const { handle } = answerViews({ kind: 'view', view: await forgeTasks(rack) });
    const server = await startForeignServer(handle, tls);
    const link = new HttpLink({ ca: tls.cert });
    onTestFinished(() => link.close());
    rack.start({ link, verify: verifyEd25519, log: QUIET }, { servers: [server.url], heartbeatMs: 50 });
    await vi.waitFor(
      async () => expect(await rack.disk.read('identity')).toContain(`"leaving":"${LEAVE.id}"`),
      WAIT_MS,
    );
    expect(rack.driver.performed).toContain(LEAVE.id);
  });
});

test('tasks-of-a-view-on-the-disk-are-not-brought-back-by-word-that-nothing-has-changed', async () => {
  const { url, rack, restart } = await joined();
  const { token, view } = await storedView(rack);
  const stamp = { ...view.stamp, revision: view.stamp.revision - 1 };
  const tasks = [LEAVE, { id: 'former:c1:1', kind: 'preflight', args: {} }];
  await rack.disk.write('view', sealJson({ token, view: { ...view, stamp, digest: 'former', tasks } }));
  const performed = [...rack.driver.performed];
  const { handle, requests } = answerViews({ kind: 'unchanged' });
  const man = await startForeignServer(handle);
  await restart(man.url);
  await vi.waitFor(() => expect(requests.get('view')).toBeGreaterThan(2), WAIT_MS);
  expect(rack.driver.performed).toEqual(performed);
  expect(await rack.disk.read('identity')).not.toContain('"leaving"');
  // Its own server has no such tasks any more.
  await restart(url);
  await vi.waitFor(async () => expect(await rack.disk.read('view')).not.toContain(LEAVE.id), WAIT_MS);
  expect(rack.driver.performed).toEqual(performed);
});
