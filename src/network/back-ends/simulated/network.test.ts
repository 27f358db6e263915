// The simulated back end: repeated calls have one effect, armed faults apply, and events and calls are recorded.
import { describe, expect, test } from 'vitest';
import type { Stored } from '../../../fleet/index.ts';
import { NetworkUnavailable } from '../back-end.ts';
import type { Port } from '../../model.ts';
import { composeCreate, FAR, ips, NEAR, NEAR6, outcomes, world } from './world-fixture.ts';

describe('orders', () => {
  test('create-makes-ports-once-and-finds-them-again', async () => {
    const { create, network } = world();
    const first = await create([{}, { pick: true, pools: [NEAR, NEAR6] }]);
    expect(first).toEqual({
      kind: 'applied',
      ports: [
        { port: 'p0', outcome: 'ok', mac: 'fa:16:3e:00:00:00', addresses: [] },
        {
          port: 'p1',
          outcome: 'ok',
          mac: 'fa:16:3e:00:00:01',
          addresses: [
            { ip: '10.0.0.2', subnet: 'near' },
            { ip: '2001:db8::10', subnet: 'near6' },
          ],
        },
      ],
    });
    expect(await create([{}, { pick: true, pools: [NEAR, NEAR6] }])).toEqual({ ...first, kind: 'already' });
    expect(network.calls.list()).toHaveLength(2);
  });

  test('create-says-taken-for-an-address-or-a-port-of-another-client', async () => {
    const { create, network, fence } = world();
    await create([{ fixedIps: [{ ip: '10.0.0.3', subnet: 'near' }] }]);
    const other = { port: 'q', fixedIps: [{ ip: '10.0.0.3', subnet: 'near' }] };
    expect(outcomes(await create([other]))).toEqual(['taken']);
    expect(network.port('q')).toBeUndefined();
    const order = { backEnd: 'simulated', instance: 'db', op: 'create', ports: [composeCreate({}, 0)] } as const;
    expect(outcomes(await network.create(order, fence))).toEqual(['taken']);
  });

  test('an-empty-pool-at-create-leaves-nothing-behind', async () => {
    const { create, network } = world();
    for (const ip of ['10.0.0.2', '10.0.0.3', '10.0.0.4']) network.addForeign('near', ip);
    expect(outcomes(await create([{ pick: true, pools: [NEAR6, NEAR] }]))).toEqual(['pool-empty']);
    expect(network.port('p0')).toBeUndefined();
    await create([{ port: 'q', pick: true, pools: [NEAR6] }]);
    expect(ips(network, 'q')).toEqual(['2001:db8::10']);
  });

  test('bind-gives-one-address-per-version-and-all-there-is-to-know', async () => {
    const { create, bind } = world();
    await create([{}]);
    const bound = await bind('h1', [{ takes: [4, 6], pools: [NEAR, NEAR6] }]);
    expect(bound).toEqual({
      kind: 'applied',
      ports: [
        {
          port: 'p0',
          outcome: 'ok',
          mac: 'fa:16:3e:00:00:00',
          type: 'simulated',
          addresses: [
            { ip: '10.0.0.2', subnet: 'near' },
            { ip: '2001:db8::10', subnet: 'near6' },
          ],
        },
      ],
    });
    expect(await bind('h1', [{ takes: [4, 6], pools: [NEAR, NEAR6] }])).toEqual({ ...bound, kind: 'already' });
  });

  test('a-bind-that-finds-one-version-short-takes-nothing-of-the-other', async () => {
    const { create, bind, network } = world();
    for (const ip of ['10.0.0.2', '10.0.0.3', '10.0.0.4']) network.addForeign('near', ip);
    await create([{}]);
    expect(outcomes(await bind('h1', [{ takes: [6, 4], pools: [NEAR, NEAR6] }]))).toEqual(['pool-empty']);
    expect(ips(network, 'p0')).toEqual([]);
    expect(network.addForeign('near6', '2001:db8::10')).toBe(true);
  });

  test('an-order-that-is-new-for-one-port-is-applied', async () => {
    const { create, bind } = world();
    await create([{}]);
    expect(await create([{}, {}])).toMatchObject({ kind: 'applied' });
    await bind('h1', [{}]);
    expect(await bind('h1', [{}, {}])).toMatchObject({ kind: 'applied' });
    expect(await bind('h1', [{}, {}])).toMatchObject({ kind: 'already' });
  });

  test('never: a bind of an earlier serial, or under an older epoch, changes anything', async () => {
    const { create, bind, end, network, fence } = world();
    await create([{}]);
    await bind('h1', [{ serial: 1 }]);
    await end('unbind', 'p0', 2);
    for (const serial of [1, 2]) expect(await bind('h1', [{ serial }])).toEqual({ kind: 'stale' });
    expect(network.port('p0')?.binding).toBeUndefined();
    expect(outcomes(await bind('h2', [{ serial: 3 }], { ...fence, leaseEpoch: 5 }))).toEqual(['ok']);
    expect(await bind('h3', [{ serial: 4 }])).toEqual({ kind: 'stale' });
    expect(await end('unbind', 'p0', 9)).toEqual({ kind: 'stale' });
    expect(network.port('p0')?.binding?.host).toBe('h2');
  });

  test('unbind-and-release-of-an-earlier-serial-or-another-instance-are-stale', async () => {
    const { create, bind, end, network, fence } = world();
    await create([{}]);
    await bind('h1', [{ serial: 3 }]);
    expect(await end('unbind', 'p0', 2)).toEqual({ kind: 'stale' });
    expect(await end('release', 'p0', 2)).toEqual({ kind: 'stale' });
    const ports = [{ port: 'p0', serial: 4, nic: 0, createdBy: 'muster' }] as const;
    const order = { backEnd: 'simulated', instance: 'db', op: 'release', ports } as const;
    expect(await network.release(order, fence)).toEqual({ kind: 'stale' });
    expect(network.port('p0')?.binding?.host).toBe('h1');
  });

  test('unbind-keeps-addresses-and-another-pool-takes-those-that-are-dropped', async () => {
    const { create, bind, end, network } = world();
    await create([{}]);
    await bind('h1', [{}]);
    await end('unbind', 'p0', 2);
    expect(await end('unbind', 'p0', 2)).toMatchObject({ kind: 'already' });
    expect(ips(network, 'p0')).toEqual(['10.0.0.2']);
    const kept = { serial: 3, keeps: ['10.0.0.2'], takes: [], pools: [FAR] };
    expect(outcomes(await bind('h2', [kept]))).toEqual(['address-not-carried']);
    expect(outcomes(await bind('h2', [{ serial: 3, drops: ['10.0.0.2'], pools: [FAR] }]))).toEqual(['ok']);
    expect(ips(network, 'p0')).toEqual(['10.1.0.5']);
    expect(network.addForeign('near', '10.0.0.2')).toBe(true);
  });

  test('an-address-whose-answer-was-lost-is-used-in-its-pool-and-given-back-elsewhere', async () => {
    const { create, bind, end, network } = world([{ op: 'bind', outcome: 'applied-but-lost', times: 2 }]);
    await create([{}]);
    expect(outcomes(await bind('h1', [{}]))).toEqual(['unavailable']);
    await end('unbind', 'p0', 2);
    expect(outcomes(await bind('h2', [{ serial: 3 }]))).toEqual(['unavailable']);
    expect(ips(network, 'p0')).toEqual(['10.0.0.2']);
    await end('unbind', 'p0', 4);
    expect(outcomes(await bind('h3', [{ serial: 5, pools: [FAR] }]))).toEqual(['ok']);
    expect(ips(network, 'p0')).toEqual(['10.1.0.5']);
    expect(network.addForeign('near', '10.0.0.2')).toBe(true);
  });

  test('never: a late create brings back a port that was released', async () => {
    const { create, end, network } = world();
    await create([{}]);
    expect(await end('release', 'p0', 1)).toMatchObject({ kind: 'applied' });
    expect(await end('release', 'p0', 1)).toMatchObject({ kind: 'already', ports: [{ outcome: 'ok' }] });
    expect(outcomes(await create([{}]))).toEqual(['not-found']);
    expect(network.port('p0')).toBeUndefined();
  });

  test('never: a late create attaches a port that was released, whether it was created or not', async () => {
    const { create, end, network } = world();
    const user = { createdBy: 'user' as const };
    expect(await end('release', 'p0', 1, user)).toMatchObject({ kind: 'already' });
    expect(outcomes(await create([user]))).toEqual(['stale']);
    expect(network.port('p0')).toBeUndefined();
    expect(outcomes(await create([{ ...user, serial: 1 }]))).toEqual(['ok']);
    await end('release', 'p0', 2, user);
    expect(outcomes(await create([{ ...user, serial: 1 }]))).toEqual(['stale']);
    expect(network.port('p0')?.instance).toBeUndefined();
    expect(outcomes(await create([{ ...user, serial: 2 }]))).toEqual(['ok']);
  });

  test('a-user-port-gives-back-what-came-with-a-lost-answer-and-gets-it-anew', async () => {
    const { create, end, network } = world();
    const user = { createdBy: 'user' as const, pick: true, pools: [NEAR] };
    await create([user]);
    const [allocated] = ips(network, 'p0');
    await end('release', 'p0', 1, { createdBy: 'user', drops: [], keeps: [] });
    expect(ips(network, 'p0')).toEqual([]);
    expect(await create([{ ...user, serial: 1 }])).toMatchObject({ kind: 'applied', ports: [{ outcome: 'ok' }] });
    expect(ips(network, 'p0')).toEqual([allocated]);
    expect(await create([{ ...user, serial: 1 }])).toMatchObject({ kind: 'already' });
  });

  test('a-user-port-is-handed-back-and-loses-only-what-it-did-not-come-with', async () => {
    const { create, bind, end, network } = world();
    await create([{ createdBy: 'user', fixedIps: [{ ip: '10.0.0.4', subnet: 'near' }] }]);
    await bind('h1', [{ takes: [6], keeps: ['10.0.0.4'], pools: [NEAR, NEAR6] }]);
    const handed = await end('release', 'p0', 2, { createdBy: 'user', drops: [], keeps: ['10.0.0.4'] });
    expect(handed).toMatchObject({ kind: 'applied', ports: [{ outcome: 'ok' }] });
    expect(network.port('p0')).toMatchObject({ instance: undefined, binding: undefined });
    expect(ips(network, 'p0')).toEqual(['10.0.0.4']);
    expect(network.calls.list().map(({ op }) => op)).toEqual(['create', 'bind', 'unbind']);
  });

  function known(id: string, facts: Partial<Port>): Stored<'port', Port> {
    const doc = { state: 'made', mac: 'fa:16:3e:00:00:00', instance: 'web', serial: 4, addresses: [], ...facts };
    return { id, revision: 1, doc } as unknown as Stored<'port', Port>;
  }
  const held: Port['addresses'] = [{ ip: '10.0.0.2', subnet: 'near', chosenBy: 'bind' }];

  test('what-the-journal-knows-is-adopted-after-a-start', async () => {
    const { network, bind, create } = world();
    // Its next bind, the fourth, is on its way.
    network.adopt([known('p0', { addresses: held }), known('w', { state: 'wanted' })]);
    expect(await bind('h1', [{ serial: 3 }])).toEqual({ kind: 'stale' });
    expect(outcomes(await bind('h1', [{ serial: 4, takes: [], keeps: ['10.0.0.2'] }]))).toEqual(['ok']);
    await create([{ port: 'q', pick: true, pools: [NEAR] }]);
    expect(ips(network, 'q')).toEqual(['10.0.0.3']);
    expect(network.port('w')).toBeUndefined();
  });

  test('what-another-server-did-meanwhile-counts', async () => {
    const { network, bind, create } = world();
    network.addForeign('near', '10.0.0.3');
    await create([{}, { port: 'gone', pick: true, pools: [NEAR] }]);
    const binding = { host: 'h7', serial: 7, type: 'simulated' };
    network.adopt([known('p0', { serial: 8, binding, addresses: held })]);
    expect(network.port('gone')).toBeUndefined();
    expect(await bind('h1', [{ serial: 7 }])).toEqual({ kind: 'stale' });
    expect(outcomes(await bind('h1', [{ serial: 8, takes: [], keeps: ['10.0.0.2'] }]))).toEqual(['ok']);
    await create([{ port: 'q', pick: true, pools: [NEAR] }]);
    expect(ips(network, 'q')).toEqual(['10.0.0.4']);
  });
});

describe('faults', () => {
  test('scheduling-12: a binding that failed with a success status is a failure', async () => {
    const { create, bind, end, reports, network } = world([{ op: 'bind', host: 'h1', outcome: 'binding-failed' }]);
    await create([{}]);
    const failed = await bind('h1', [{}]);
    expect(failed).toMatchObject({
      ports: [{ outcome: 'binding-failed', text: 'the back end answered 200 binding_failed' }],
    });
    expect(reports).toEqual([]);
    await end('unbind', 'p0', 2);
    expect(outcomes(await bind('h2', [{ serial: 3 }]))).toEqual(['ok']);
    expect(ips(network, 'p0')).toEqual(['10.0.0.2']);
  });

  test('never: a repetition that comes late, and could not bind, undoes a binding that holds', async () => {
    const { create, bind, network } = world();
    await create([{}]);
    expect(outcomes(await bind('h1', [{}]))).toEqual(['ok']);
    network.faults.arm({ op: 'bind', outcome: 'binding-failed' });
    expect(outcomes(await bind('h1', [{}]))).toEqual(['ok']);
    expect(network.port('p0')?.binding?.type).toBe('simulated');
  });

  test('a-fault-strikes-only-what-it-names-and-only-so-often', async () => {
    const { create, bind } = world([
      { op: 'bind', segment: 'far', outcome: 'mapping-gone' },
      { op: 'bind', nic: 1, outcome: 'pool-empty', times: 2 },
      { op: 'bind', host: 'h9', outcome: 'forbidden' },
    ]);
    await create([{}, {}]);
    expect(outcomes(await bind('h1', [{}, {}]))).toEqual(['ok', 'pool-empty']);
    expect(outcomes(await bind('h1', [{}, {}]))).toEqual(['ok', 'pool-empty']);
    expect(outcomes(await bind('h1', [{}, {}]))).toEqual(['ok', 'ok']);
    expect(outcomes(await bind('h9', [{ serial: 2 }]))).toEqual(['forbidden']);
  });

  test('a-bulk-create-fails-for-one-nic-or-altogether', async () => {
    const { create, network } = world([
      { op: 'create', nic: 1, outcome: 'quota' },
      { op: 'create', outcome: 'applied-but-lost' },
    ]);
    // The whole call is tested first: a fault that names no NIC matches it.
    await expect(create([{}, {}])).rejects.toThrow(NetworkUnavailable);
    expect(network.port('p1')).toBeDefined();
    expect(outcomes(await create([{ port: 'q0' }, { port: 'q1' }]))).toEqual(['ok', 'quota']);
    expect(network.port('q1')).toBeUndefined();
    expect(await create([{}, {}])).toMatchObject({ kind: 'already' });
  });

  test('binds-of-one-order-run-in-parallel', async () => {
    const { create, bind, clock, network } = world([{ op: 'bind', outcome: 'ok', delayMs: 1000, times: 3 }]);
    await create([{}, {}, {}]);
    const bound = bind('h1', [{}, {}, {}]);
    await clock.advance(999);
    expect(network.port('p0')?.binding).toBeUndefined();
    await clock.advance(1);
    expect(outcomes(await bound)).toEqual(['ok', 'ok', 'ok']);
  });

  test('never: anything happens after the deadline', async () => {
    const { create, bind, clock, network, fence } = world([
      { op: 'bind', outcome: 'ok', delayMs: 61_000 },
      { op: 'bind', outcome: 'hang' },
    ]);
    await create([{}]);
    for (const deadlineAtMs of [fence.deadlineAtMs, fence.deadlineAtMs + 60_000]) {
      const late = bind('h1', [{}], { ...fence, deadlineAtMs });
      await clock.advance(60_000);
      expect(outcomes(await late)).toEqual(['unavailable']);
    }
    expect(outcomes(await bind('h1', [{}]))).toEqual(['unavailable']);
    expect(network.port('p0')?.binding).toBeUndefined();
  });

  test('a-server-that-lost-the-lease-on-the-way-is-stale', async () => {
    const { create, bind, clock, fence, network } = world([{ op: 'bind', outcome: 'ok', delayMs: 1000 }]);
    await create([{}]);
    const slow = bind('h1', [{}]);
    await bind('h2', [{ serial: 2 }], { ...fence, leaseEpoch: 2 });
    await clock.advance(1000);
    expect(await slow).toEqual({ kind: 'stale' });
    expect(network.port('p0')?.binding?.host).toBe('h2');
  });

  test('a-port-that-vanished-is-released', async () => {
    const { create, end, network } = world([{ op: 'delete', outcome: 'not-found' }]);
    await create([{}]);
    expect(await end('release', 'p0', 1)).toMatchObject({ ports: [{ outcome: 'ok', text: 'it was gone' }] });
    expect(network.port('p0')).toBeUndefined();
  });

  test.each([
    ['create', 'binding-failed'],
    ['unbind', 'pool-empty'],
    ['bind', 'spawn-failed'],
    ['spawn', 'binding-failed'],
  ] as const)('a "%s" cannot come to "%s"', (op, outcome) => {
    const { network } = world();
    expect(network.faults.arm({ op, outcome })).toMatchObject({ refusal: { code: 'outcome-not-possible' } });
  });

  test('too-many-faults-are-refused', () => {
    const { network } = world(Array.from({ length: 100 }, () => ({ op: 'bind', outcome: 'ok' })));
    expect(network.faults.arm({ op: 'bind', outcome: 'ok' })).toMatchObject({ refusal: { code: 'too-many-faults' } });
    network.faults.disarm();
    expect(network.faults.armed).toEqual([]);
  });

  test('a-spawn-fault-is-handed-to-whoever-builds', () => {
    const { network } = world([{ op: 'spawn', host: 'h1', outcome: 'spawn-failed', delayMs: 5 }]);
    expect(network.spawnFault('h2')).toBeUndefined();
    expect(network.spawnFault('h1')).toMatchObject({ outcome: 'spawn-failed', delayMs: 5 });
    expect(network.spawnFault('h1')).toBeUndefined();
  });
});

describe('events and calls', () => {
  test('a-port-is-said-to-be-plugged-when-bound-and-again-when-the-bind-comes-again', async () => {
    const { create, bind, reports, network } = world([{ op: 'bind', outcome: 'applied-but-lost' }]);
    await create([{}]);
    await bind('h1', [{}]);
    await bind('h1', [{}]);
    const plugged = { port: 'p0', name: 'plugged', serial: 1, instance: 'web' };
    expect(reports).toEqual([plugged, plugged]);
    network.eventsEnabled = false;
    await bind('h1', [{}]);
    expect(reports).toHaveLength(2);
  });

  test('scheduling-40: one NIC takes one bulk create and one bind', async () => {
    const { create, bind, network, clock } = world();
    await create([{}]);
    await bind('h1', [{}]);
    const atMs = clock.nowMs();
    expect(network.calls.list()).toEqual([
      { nth: 1, op: 'create', ports: ['p0'], instance: 'web', by: 'conductor', atMs, result: 'applied' },
      {
        nth: 2,
        op: 'bind',
        port: 'p0',
        serial: 1,
        host: 'h1',
        instance: 'web',
        by: 'conductor',
        atMs,
        result: 'applied',
      },
    ]);
  });

  test('calls-are-bounded-and-paged', async () => {
    const { end, network } = world();
    for (let nth = 0; nth < 10_050; nth += 1) await end('unbind', `p${nth}`, 1);
    expect(network.calls.list()).toHaveLength(10_000);
    expect(network.calls.list({ after: 10_040, limit: 3 }).map(({ nth }) => nth)).toEqual([10_041, 10_042, 10_043]);
    expect(network.calls.list({ instance: 'other' })).toEqual([]);
    expect(network.calls.list({ after: 10_049 })[0]).toMatchObject({ result: 'already' });
  });
});
