// Reports from outside are validated: hosts that report others' resources, back ends that report more than fits, and instances of one request
// that continue separately once they are placed.
import { describe, expect, test } from 'vitest';
import { recordAnswer } from '../../../src/agent/index.ts';
import { ITEM } from '../../../src/operations/index.ts';
import { PROGRAM } from '../../../src/main/modules.ts';
import { startFixtureF } from '../reference-fixture.ts';
import type { AcceptanceWorld } from '../world-fixture.ts';

/** An old host that builds, and its own answer. */
async function answerBuild(world: AcceptanceWorld, facts: Readonly<Record<string, unknown>>): Promise<void> {
  await world.until('the host builds', () => world.performedTasks.length > 0);
  const item = world.all(ITEM).find(({ doc }) => doc.step === 'build');
  const { host = '' } = item?.doc ?? {};
  const task = `${item?.id}:build:${item?.doc.attempt}`;
  const said = { host, answer: { task, outcome: 'done' as const, facts }, nowMs: world.nowMs };
  await world.commit((fleet) => recordAnswer(fleet, PROGRAM.operationKinds, said));
}

const SLOW = { machine: { durations: { build: 600_000 } } };

describe('a host that', () => {
  test.each([
    [
      'gives an address that another has',
      { ports: [{ port: 'evil-p0', addresses: [{ ip: '10.0.0.2', subnet: 'sub0' }] }] },
    ],
    [
      'gives an address of another segment',
      { ports: [{ port: 'evil-p0', addresses: [{ ip: '10.2.0.9', subnet: 'sub2' }] }] },
    ],
    ['gives what is no address', { ports: [{ port: 'evil-p0', addresses: [{ ip: 'x', subnet: 'sub0' }] }] }],
    ['reports a port of another instance', { ports: [{ port: 'web-p0', addresses: [] }] }],
    ['speaks in riddles', { ports: 'x' }],
  ])('%s fails its try, and nothing of others changes', async (_name, facts) => {
    const world = await startFixtureF({ backEnd: 'simulated', hosts: { h1: { version: 1 } }, ...SLOW });
    await world.create({ name: 'web' });
    await world.until('it runs', () => world.instance('web').state === 'active');
    expect(world.addresses('web')).toEqual(['10.0.0.2']);
    world.performedTasks.length = 0;
    await world.create({ name: 'evil' });
    await answerBuild(world, facts);
    expect(world.instance('evil').attempts).toMatchObject([{ host: 'h2', fault: 'binding-failed' }]);
    expect(world.addresses('web')).toEqual(['10.0.0.2']);
    await world.until('it runs elsewhere', () => world.instance('evil').state === 'active');
  });

  test('reports a port whose back end is the journal is ignored', async () => {
    const world = await startFixtureF({ hosts: { h1: { version: 1 } }, ...SLOW });
    await world.create();
    await answerBuild(world, { ports: [{ port: 'web-p0', addresses: [{ ip: '10.0.0.77', subnet: 'sub0' }] }] });
    expect(world.instance('web').state).toBe('active');
    expect(world.addresses('web')).toEqual(['10.0.0.2']);
  });
});

test('an instance that fails after its request was placed stays, with the reason', async () => {
  const world = await startFixtureF();
  for (const host of ['h2', 'h3', 'h4', 'h5']) {
    const fault = { task: 'build', instance: 'web-2', times: 9, problem: 'no', fault: 'spawn-failed' } as const;
    world.agents.hypervisorOf(host)?.arm(fault);
  }
  await world.create({ name: 'web', count: 2, minCount: 2, portIds: ['p1', 'p2'] });
  await world.settle();
  expect(world.instance('web-1').state).toBe('active');
  expect(world.instance('web-2')).toMatchObject({ state: 'error', fault: { code: 'attempts-exhausted' } });
  expect(world.instance('web-2').attempts).toHaveLength(3);
});
