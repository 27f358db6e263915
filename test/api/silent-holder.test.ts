// A request that was passed on to a server which then falls silent: paused or cut off, it never answers. The caller is answered
// as soon as another server decides, and not at the last deadline.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { clockAhead, takeLease, startApiTestServer } from './api-test-server.ts';

test('a-forwarded-request-is-aborted-when-another-server-takes-over', async () => {
  let arrived = (): void => undefined;
  const arrival = new Promise<void>((resolve) => (arrived = resolve));
  const silent = createServer(() => arrived()); // and never answers
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const clock = clockAhead();
  const holder = await startApiTestServer({ leads: false, clock });
  onTestFinished(() => holder.close());
  await takeLease(holder, `http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
  const follower = await startApiTestServer({ leads: false, clock, disk: holder.disk });
  onTestFinished(() => follower.close());
  const url = await follower.server.listen({ host: '127.0.0.1', port: 0 });
  const admin = await holder.token('admin');
  await follower.journal.waitForRevision(holder.journal.fleet.revision, 2000);

  const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' };
  // Less patient than the server that passes it on: without an answer by then this fails.
  const signal = AbortSignal.timeout(20_000);
  const request = fetch(`${url}/api/v1/sites`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ name: 'x' }),
    signal,
  });
  await arrival;
  const { store } = holder.journal;
  const lease = await store.readLease('fleet');
  await store.releaseLease('fleet', lease?.epoch ?? 0);
  const answer = await request;
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ code: 'holder-unreachable', outcome: 'unknown' });
});
