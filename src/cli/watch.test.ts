// Progress of a long catch-up: it is said beside the commits, and no more once the watcher has come to the newest one.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { EXIT } from './exit-code.ts';
import { TestSession } from './output/session-fixture.ts';
import { WatchFollower } from './watch.ts';

/** Each look at its clock finds it later. */
class SlowSession extends TestSession {
  override nowMs(): number {
    this.clockMs += 1500;
    return this.clockMs;
  }
}

const commit = (revision: number): string =>
  `id: ${revision}\nevent: commit\ndata: ${JSON.stringify({ revision, atMs: 1, by: 'test', changes: [] })}\n\n`;

async function watch(...events: readonly string[]): Promise<{ readonly code: number; readonly err: string }> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''));
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const session = new SlowSession({ output: 'json', server: `http://127.0.0.1:${port}` });
  const code = await new WatchFollower(session, { after: 0, limit: 6 }).run();
  return { code, err: session.written.err };
}

const COMMITS = [1, 2, 3, 4, 5, 6].map(commit);

test('a-catch-up-says-how-far-it-is-until-it-has-caught-up', async () => {
  const open = 'id: 0\nevent: open\ndata: {"revision":0,"head":5}\n\n';
  const { code, err } = await watch(open, ...COMMITS);
  expect(code).toBe(EXIT.ok);
  expect(err).toBe('1 commits so far, at revision 1 of 5\n3 commits so far, at revision 3 of 5\n');
});

test('what-was-not-shown-because-of-a-filter-counts-for-the-place-and-not-for-the-commits', async () => {
  const open = 'id: 0\nevent: open\ndata: {"revision":0,"head":900}\n\n';
  const { err } = await watch(open, 'id: 500\n\n', ...[901, 902, 903, 904, 905, 906].map(commit));
  expect(err).toBe('0 commits so far, at revision 500 of 900\n');
});

test('an-id-that-names-its-commit-counts-by-its-revision', async () => {
  const open = 'id: 0\nevent: open\ndata: {"revision":0,"head":900}\n\n';
  const { err } = await watch(open, 'id: 500.c-1\n\n', ...[901, 902, 903, 904, 905, 906].map(commit));
  expect(err).toBe('0 commits so far, at revision 500 of 900\n');
});

test('a-server-that-does-not-say-how-much-there-is-gets-no-progress', async () => {
  const open = 'id: 0\nevent: open\ndata: {"revision":0}\n\n';
  expect((await watch(open, ...COMMITS)).err).toBe('');
});
