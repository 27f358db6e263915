// The agent of an older host crashes at each of its port calls while it builds and destroys instances, starts again on the
// same disk and machine, and the end is always the same: nothing is built twice, no port is made twice or left behind.
import { describe, expect, test } from 'vitest';
import { idOf } from '../../../fleet/index.ts';
import { accept } from '../../../journal/index.ts';
import {
  fail,
  ITEM,
  newOperation,
  OPERATION,
  record,
  type Item,
  type OperationKind,
} from '../../../operations/index.ts';
import { TestHost } from '../agent-fixture.ts';
import { CrashingPorts, type Crash } from '../crashing-ports-fixture.ts';
import { build, destroy, nic, RecordingNetwork } from './instance-tasks-fixture.ts';
import { TestControlPlane } from '../../server/control-plane-fixture.ts';
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';

/** Builds an instance on an item's host, and destroys it again when it is to go. */
function tryKind(answers: string[]): OperationKind {
  const nics = (id: string): unknown => [nic(`port-of-${id}`)];
  return {
    name: 'instance-try',
    steps: ['build', 'destroy'],
    cancel: { kind: 'none', because: 'test' },
    retry: { kind: 'none', because: 'test' },
    plan: () => [],
    task: ({ doc: { step, target } }) => {
      const { id } = target;
      return step === 'build'
        ? { kind: 'build', args: build(id, { network: 'allocate', nics: nics(id) }) }
        : { kind: 'destroy', args: destroy(id, { ports: 'delete-own', nics: nics(id) }) };
    },
    handleTaskAnswer: (item, { outcome, facts }) => {
      const { step, target } = item.doc;
      answers.push(`${step} ${target.id}: ${outcome} ${JSON.stringify(facts)}`);
      if (outcome === 'failed') return fail(item, { code: 'test' });
      const goes = step === 'build' && target.id === 'goes';
      return record(item, goes ? { state: 'running', step: 'destroy' } : { state: 'done', step });
    },
  };
}

interface Run {
  readonly end: unknown;
  readonly calls: readonly string[];
}

async function run(crash?: Crash): Promise<Run> {
  const clock = new VirtualClock();
  const answers: string[] = [];
  const plane = new TestControlPlane(clock, 'journal-1', [tryKind(answers)]);
  await plane.start('s1');
  await clock.until('there is a lease holder', () => plane.hasLeader);
  await plane.register('c1');
  const joinToken = await plane.joinToken('c1');
  const network = new RecordingNetwork();
  const machine = { network, durations: { build: 100, destroy: 50 }, delayMs: 5 };
  const rack = new TestHost(plane, { joinToken: () => Promise.resolve(joinToken), machine, serviceVersion: 1 });
  rack.start();
  await clock.until('c1 is active', () => plane.host('c1')?.state === 'active');
  await rack.stop();
  await begin(plane);
  const ports = new CrashingPorts(crash);
  rack.start(ports.wrap({ link: rack.link, disk: rack.disk, driver: rack.driver, clock }));
  let restarted = false;
  await clock.until('the operation ended', () => {
    if (ports.hasCrashed && !restarted) {
      restarted = true;
      rack.start();
    }
    return stateOf(plane) !== 'running';
  });
  const end = {
    state: stateOf(plane),
    answers: [...answers].sort(),
    instances: rack.driver.hypervisor.instances.map(({ id, state }) => `${id} ${state}`),
    ports: [...network.made],
    violations: plane.violations,
  };
  const calls = [...ports.calls];
  await rack.stop();
  await plane.close();
  return { end, calls };
}

async function begin(plane: TestControlPlane): Promise<void> {
  const item = (id: string): { key: string; target: Item['target']; host: string; step: string } => ({
    key: id,
    target: { kind: 'instance', id },
    host: 'c1',
    step: 'build',
  });
  const items = [item('stays'), item('goes')].map((one) => ({ ...one, state: 'running' as const }));
  const facts = { id: idOf(OPERATION, 'op-try'), kind: 'instance-try', title: 'try', by: 'test' };
  const made = newOperation({ ...facts, nowMs: plane.clock.nowMs(), deadlineMs: 3_000_000, items });
  await plane.commit(() => accept(made, null));
}

function stateOf(plane: TestControlPlane): string | undefined {
  const { fleet } = plane.leader.journal;
  const open = [...fleet.all(ITEM)].some(({ doc }) => doc.operation === 'op-try' && doc.state === 'running');
  return open ? 'running' : fleet.get(OPERATION, idOf(OPERATION, 'op-try'))?.doc.state;
}

describe('an agent that crashes while it builds and destroys', () => {
  test('at-each-port-call-ends-in-the-same-state', { timeout: 60_000 }, async () => {
    const calm = await run();
    expect(calm.end).toMatchObject({ instances: ['stays running'], ports: ['port-of-stays'], violations: [] });
    expect(calm.end).toMatchObject({ answers: { length: 3 } });
    expect(calm.calls.length).toBeGreaterThan(20);
    for (let at = 1; at <= calm.calls.length; at += 1) {
      for (const effect of ['before', 'after'] as const) {
        const crashed = await run({ at, effect });
        const where = `crash ${effect} call ${at}, ${crashed.calls.at(-1)}`;
        expect({ where, end: crashed.end }).toEqual({ where, end: calm.end });
      }
    }
  });
});
