// What a host does about ports, by the version of its agent.
import { describe, expect, test } from 'vitest';
import { InstanceTasksHarness, build, destroy, nic, RecordingNetwork, activate } from './instance-tasks-fixture.ts';

const NICS = [nic('p0', { nic: 0, serial: 4, pool: 'segment:seg-1' }), nic('p1', { nic: 1 })];
const INLINE = [nic('e0', { backEnd: 'embedded' }), nic('l0', { nic: 1, backEnd: 'host-local' })];
const fact = (port: string, more: object = {}): object => ({
  port,
  mac: 'fa:16:3e:00:00:01',
  type: 'ovs',
  serial: 1,
  addresses: [{ ip: '10.0.0.9', subnet: 'sub-1' }],
  ...more,
});
const BOUND = [fact('p0', { serial: 4, segment: 'seg-1' }), fact('p1')];

function benchWith(): { readonly bench: InstanceTasksHarness; readonly network: RecordingNetwork } {
  const network = new RecordingNetwork();
  return { bench: new InstanceTasksHarness({ network }), network };
}

describe('a host asked to build', () => {
  test('version-1-makes-and-binds-ports-and-says-what-came-of-it', async () => {
    const { bench, network } = benchWith();
    const args = build('i1', { network: 'allocate', nics: NICS });
    const answer = await bench.perform('build', args, { serviceVersion: 1 });
    expect(answer).toMatchObject({ outcome: 'done', facts: { ports: BOUND } });
    expect(network.calls).toEqual(['create i1@h1 p0.4 p1.1', 'bind i1@h1 p0.4 p1.1']);
  });

  test('version-1-never-makes-a-port-that-a-user-made', async () => {
    const { bench, network } = benchWith();
    network.made.add('u0');
    const nics = [nic('u0', { createdBy: 'user' }), nic('p1')];
    await bench.perform('build', build('i1', { network: 'allocate', nics }), { serviceVersion: 1 });
    expect(network.calls).toEqual(['create i1@h1 p1.1', 'bind i1@h1 u0.1 p1.1']);
  });

  test('version-2-binds-ports-that-are-made-and-makes-none', async () => {
    const { bench, network } = benchWith();
    for (const { port } of NICS) network.made.add(port);
    const answer = await bench.perform('build', build('i1', { network: 'bind', nics: NICS }), { serviceVersion: 2 });
    expect(answer).toMatchObject({ outcome: 'done', facts: { ports: BOUND } });
    expect(network.calls).toEqual(['bind i1@h1 p0.4 p1.1']);
  });

  test('version-3-makes-no-call-and-says-nothing-of-ports', async () => {
    const { bench, network } = benchWith();
    const answer = await bench.perform('build', build('i1', { nics: NICS }));
    expect(answer).toEqual({ outcome: 'done', tookMs: 0 });
    expect(network.calls).toEqual([]);
    expect(bench.driver.hypervisor.instance('i1')?.nics).toEqual(NICS);
  });

  test.each(['allocate', 'bind', 'driver'])('ports-that-the-journal-keeps-are-left-to-the-server, %s', async (mode) => {
    const { bench, network } = benchWith();
    const answer = await bench.perform('build', build('i1', { network: mode, nics: INLINE }));
    expect(answer).toEqual({ outcome: 'done', tookMs: 0 });
    expect(network.calls).toEqual([]);
  });

  test.each([
    [1, 'bind', false],
    [1, 'ready', false],
    [1, 'allocate', true],
    [2, 'ready', false],
    [2, 'bind', true],
    [2, 'allocate', true],
    [3, 'allocate', true],
    [3, 'ready', true],
  ])('version-%i-knows-network-%s: %s', async (serviceVersion, mode, knows) => {
    const { bench, network } = benchWith();
    for (const { port } of NICS) network.made.add(port);
    for (const task of ['build', 'prepare', 'activate']) {
      if (task === 'activate') await bench.perform('prepare', build(`i-${task}`));
      const facts = { network: mode, nics: NICS };
      const args = task === 'activate' ? activate(`i-${task}`, facts) : build(`i-${task}`, facts);
      const answer = await bench.perform(task, args, { serviceVersion });
      expect(answer.outcome).toBe(knows ? 'done' : 'failed');
      if (knows) continue;
      expect(answer.facts).toEqual({ fault: 'unsupported', runs: false });
      expect(answer.problems?.[0]).toContain(
        `service version ${serviceVersion} and cannot ${task} with network "${mode}"`,
      );
      expect(network.calls).toEqual([]);
    }
  });

  test('an-agent-that-is-too-old-says-what-the-one-before-it-left', async () => {
    const { bench } = benchWith();
    const args = build('i1', { network: 'ready', nics: NICS });
    expect(await bench.perform('build', args, { serviceVersion: 3 })).toMatchObject({ outcome: 'done' });
    const answer = await bench.perform('build', args, { serviceVersion: 1 });
    expect(answer.facts).toEqual({ fault: 'unsupported', runs: true });
  });

  test('an-instance-without-nics-is-built-by-every-version', async () => {
    const answer = await new InstanceTasksHarness().perform('build', build('i1'), { serviceVersion: 1 });
    expect(answer.outcome).toBe('done');
  });

  test('a-host-without-access-to-the-network-says-so', async () => {
    const answer = await new InstanceTasksHarness().perform('build', build('i1', { network: 'bind', nics: NICS }));
    expect(answer).toMatchObject({ outcome: 'failed', facts: { fault: 'no-network-access', runs: false } });
    expect(answer.problems?.[0]).toContain('has no access to the network back end');
  });
});

describe('a host whose driver binds', () => {
  test('binds-what-is-made, and makes what is not made yet', async () => {
    const { bench, network } = benchWith();
    const args = build('i1', { network: 'driver', nics: NICS });
    expect(await bench.perform('build', args)).toMatchObject({ facts: { ports: BOUND } });
    expect(await bench.perform('build', args)).toMatchObject({ facts: { ports: BOUND } });
    expect(network.calls.map((call) => call.split(' ')[0])).toEqual(['bind', 'create', 'bind', 'bind']);
  });

  test('binds-by-itself-where-it-has-no-network-to-ask', async () => {
    const answer = await new InstanceTasksHarness().perform('build', build('i1', { network: 'driver', nics: NICS }));
    const own = { type: 'simulated', addresses: [] };
    expect(answer.facts).toEqual({
      ports: [
        { ...BOUND[0], ...own },
        { ...BOUND[1], ...own },
      ],
    });
  });
});

describe('when the network fails a host', () => {
  test.each([
    ['pool-empty', 'pool-empty', { pool: 'segment:seg-1' }],
    ['binding-failed', 'binding-failed', {}],
    ['mapping-gone', 'mapping-gone', {}],
    ['unavailable', 'back-end-unavailable', {}],
  ] as const)('%s-is-the-fault-%s-and-nothing-is-started', async (outcome, fault, more) => {
    const { bench, network } = benchWith();
    network.answers.set('p0', { port: 'p0', outcome, text: 'told so' });
    for (const { port } of NICS) network.made.add(port);
    const answer = await bench.perform('build', build('i1', { network: 'bind', nics: NICS }));
    expect(answer).toMatchObject({ outcome: 'failed', problems: [`port p0: ${outcome}, told so`] });
    expect(answer.facts).toEqual({ fault, runs: false, ...more });
    expect(bench.running).toEqual([]);
  });

  test('a-port-that-cannot-be-made-is-not-bound', async () => {
    const { bench, network } = benchWith();
    network.answers.set('p1', { port: 'p1', outcome: 'quota' });
    const answer = await bench.perform('build', build('i1', { network: 'allocate', nics: NICS }));
    expect(answer.facts).toEqual({ fault: 'quota', runs: false });
    expect(network.calls).toEqual(['create i1@h1 p0.4 p1.1']);
  });

  test('no-answer-is-asked-for-again-and-then-told', async () => {
    const { bench, network } = benchWith();
    for (const { port } of NICS) network.made.add(port);
    network.silent = 2;
    expect(await bench.perform('build', build('i1', { network: 'bind', nics: NICS }))).toMatchObject({
      outcome: 'done',
    });
    network.silent = 3;
    const answer = await bench.perform('build', build('i2', { network: 'bind', nics: NICS }));
    expect(answer.facts).toEqual({ fault: 'back-end-unavailable', runs: false });
    expect(network.calls).toHaveLength(6);
  });
});

describe('the same task again', () => {
  test('answers-with-the-same-ports-and-asks-the-network-no-more', async () => {
    const { bench, network } = benchWith();
    const args = build('i1', { network: 'allocate', nics: NICS });
    const first = await bench.perform('build', args, { id: 't1', serviceVersion: 1 });
    expect(await bench.perform('build', args, { id: 't1', serviceVersion: 1 })).toEqual(first);
    expect(network.calls).toHaveLength(2);
  });

  test('after-a-crash-between-binding-and-starting-finds-its-ports', async () => {
    const { bench, network } = benchWith();
    bench.driver.hypervisor.arm({ task: 'build', times: 1, problem: 'crashed', fault: 'spawn-failed' });
    const args = build('i1', { network: 'allocate', nics: NICS });
    expect(await bench.perform('build', args, { id: 't1' })).toMatchObject({ outcome: 'failed' });
    expect(await bench.perform('build', args, { id: 't1' })).toMatchObject({ facts: { ports: BOUND } });
    expect([...network.made]).toEqual(['p0', 'p1']);
  });
});

describe('a host asked to destroy', () => {
  const nics = [nic('p0', { serial: 4 }), nic('u0', { createdBy: 'user' }), nic('e0', { backEnd: 'embedded' })];

  test('leaves-ports-alone-unless-told-to-delete-its-own', async () => {
    const { bench, network } = benchWith();
    await bench.perform('build', build('i1'));
    await bench.perform('destroy', destroy('i1', { nics }));
    expect(network.calls).toEqual([]);
  });

  test.each([1, 2, 3])('version-%i-deletes-what-muster-made-and-hands-a-users-port-back', async (serviceVersion) => {
    const { bench, network } = benchWith();
    await bench.perform('build', build('i1'), { serviceVersion: 3 });
    const args = destroy('i1', { nics, ports: 'delete-own' });
    expect(await bench.perform('destroy', args, { serviceVersion })).toMatchObject({ outcome: 'done' });
    expect(network.calls).toEqual(['release i1@h1 p0.4 u0.1']);
    expect(bench.running).toEqual([]);
  });

  test('deletes-ports-also-when-a-crash-came-after-the-instance-was-gone', async () => {
    const { bench, network } = benchWith();
    network.silent = 3;
    await bench.perform('build', build('i1'));
    const args = destroy('i1', {
      nics: [{ port: 'p0', createdBy: 'muster', backEnd: 'simulated' }],
      ports: 'delete-own',
    });
    const answer = await bench.perform('destroy', args);
    expect(answer.facts).toEqual({ fault: 'back-end-unavailable', runs: false });
    expect(bench.running).toEqual([]);
    expect(await bench.perform('destroy', args)).toMatchObject({ outcome: 'done' });
    expect(network.calls).toHaveLength(4);
  });

  test('a-port-that-is-gone-already-is-deleted', async () => {
    const { bench, network } = benchWith();
    network.answers.set('p0', { port: 'p0', outcome: 'not-found' });
    const args = destroy('i1', { nics, ports: 'delete-own' });
    expect(await bench.perform('destroy', args)).toMatchObject({ outcome: 'done' });
  });

  test('without-access-to-the-network-it-leaves-them-to-the-server', async () => {
    const bench = new InstanceTasksHarness();
    await bench.perform('build', build('i1'));
    const args = destroy('i1', { nics, ports: 'delete-own' });
    expect(await bench.perform('destroy', args)).toMatchObject({ outcome: 'done' });
    expect(bench.running).toEqual([]);
  });
});
