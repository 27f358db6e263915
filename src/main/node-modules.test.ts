// Both programs that run on hosts carry out the tasks that modules declare.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { NodeModule } from '../composition/index.ts';
import { createNode } from './agent.ts';

const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined };
const images: NodeModule = {
  name: 'images',
  taskHandlers: () => ({ fetch: ({ args }) => ({ outcome: 'done', facts: args }) }),
};
const FENCE = {
  stamp: { journalId: 'j', leaseEpoch: 1, revision: 1 },
  host: 'c1',
  serviceVersion: 6,
  signal: new AbortController().signal,
};

test.each([
  ['simulate', { simulate: true }],
  ['ovs', { ovs: 'unix:/none/db.sock', ovsOpenflow: 'unix:/none/br.mgmt', ovsControl: 'unix:/none/vswitchd.ctl' }],
])('an-agent-with-%s-carries-out-the-tasks-of-modules', async (_name, machine) => {
  const state = mkdtempSync(join(tmpdir(), 'muster-node-'));
  const common = { state, bridge: 'br-int', datapath: 'netdev' as const, logLevel: 'silent' };
  const node = createNode({ ...common, ...machine }, LOG, [images]);
  onTestFinished(async () => {
    await node.close();
    rmSync(state, { recursive: true });
  });
  const task = { id: 't1', kind: 'fetch', args: { digest: 'sha256:0' } };
  expect(await node.driver.perform(task, FENCE)).toEqual({ outcome: 'done', facts: task.args });
});
