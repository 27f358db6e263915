// A manager of bare-metal nodes that runs on a host: scaling that host in has it give its nodes away first, and touches no machine.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { newFolder, start, startServer } from './muster.ts';

const server = await startServer(newFolder(), '--demo', '2');
const { muster, json } = server;
/** Only a test that fails waits so long. */
const PATIENCE = { timeout: 60_000, interval: 200 };
const NODES = 4;

interface NodeRow {
  readonly id: string;
  readonly instance: string;
  readonly manager: string;
  readonly epoch: number;
  readonly state: string;
}

const nodesInUse = (): Promise<NodeRow[]> => json<NodeRow[]>('baremetal', 'nodes', 'list', '--state', 'reserved');

test('is drained before its host leaves: others have its nodes, under newer epochs, and the host can be removed', async () => {
  await vi.waitFor(async () => expect(await json('hosts', 'list', '--state', 'active')).toHaveLength(2), PATIENCE);
  const token = (await muster('token', 'create', 'm9', '--role', 'manager', '--manager', 'm9')).out.trim();
  start(['manager', '--name', 'm9', '--host', 'compute-1', '--server', server.url, '--token', token]);
  await vi.waitFor(
    async () =>
      expect((await muster('baremetal', 'managers', 'list', '--state', 'live')).out).toMatch(/m9 .*compute-1/),
    PATIENCE,
  );
  const file = join(newFolder(), 'request.json');
  for (let nth = 0; nth < NODES; nth += 1) {
    writeFileSync(file, JSON.stringify({ instance_uuid: `i${nth}`, manager: 'm9' }));
    expect(await muster('baremetal', 'reservations', 'create', file)).toMatchObject({ code: 0 });
  }
  const before = await nodesInUse();
  expect(before.map(({ manager }) => manager)).toEqual(Array.from({ length: NODES }, () => 'm9'));
  const preview = await muster('scale-in', 'preview', 'compute-1');
  expect(preview.out).toMatch(/compute-1 +manager +m9 +give its nodes away to m\d\n/);
  expect(preview.out).toContain('\n1 manager: drained, its nodes go to others, and nothing is done to a machine.\n');
  expect(await muster('scale-in', 'start', 'compute-1', '--wait')).toMatchObject({ code: 0 });
  const after = new Map((await nodesInUse()).map((one) => [one.id, one]));
  for (const { id, instance, epoch } of before) {
    expect(after.get(id)).toMatchObject({ instance, epoch: epoch + 1 });
    expect(after.get(id)?.manager).toMatch(/^m[123]$/);
  }
  expect(await json('baremetal', 'managers', 'show', 'm9')).toMatchObject({ state: 'draining', usedHere: 0 });
  expect(await json('baremetal', 'nodes', 'list', '--state', 'available')).toHaveLength(24 - NODES);
  expect(await muster('scale-in', 'end', 'compute-1', '--disconnect')).toMatchObject({ code: 0 });
});
