// Requests for drains and removals: which workers they are about, and what is refused.
import { describe, expect, test } from 'vitest';
import { worker, WorkersWorld, workload } from '../workers-fixture.ts';

describe('requests for workers', () => {
  test('by-number: unhealthy ones first, then the newest', async () => {
    const world = await WorkersWorld.of(['a', 'b', 'c', 'd']);
    await world.put(
      ...(['a', 'b', 'c', 'd'] as const).map((node, nth) => {
        const doc = world.worker(node);
        if (doc === undefined) throw new Error('gone');
        const readiness = node === 'b' ? 'not-ready' : 'ready';
        return { kind: 'worker', id: `edge.${node}`, doc: { ...doc, createdAtMs: nth, readiness } };
      }),
    );
    const operation = await world.drain([], { workers: { count: 2 } });
    expect(world.worker('b')?.work).toMatchObject({ operation });
    expect(world.worker('d')?.work).toMatchObject({ operation });
    expect(await world.refuseDrain({ workers: { count: 3 } })).toMatchObject({ code: 'too-few-workers' });
  });

  test('that-are-under-way-are-answered-again; others of busy workers are refused', async () => {
    const world = await WorkersWorld.of(['a', 'b', 'c'], workload('web', { replicas: 3, minAvailable: 3 }));
    const operation = await world.drain(['a']);
    expect(await world.drain(['a'])).toBe(operation);
    expect(await world.refuseDrain({ workers: { nodes: ['a', 'b'] } })).toMatchObject({ code: 'worker-busy' });
  });

  test('by-number-take-none-that-cannot-be-drained: one that has not joined is unhealthy, and has nothing to drain', async () => {
    const world = await WorkersWorld.of(['a', 'b']);
    await world.put(worker('new', { state: 'joining', readiness: 'missing' }));
    const operation = await world.drain([], { workers: { count: 2 } });
    expect(['a', 'b', 'new'].map((node) => world.worker(node)?.work?.operation)).toEqual([
      operation,
      operation,
      undefined,
    ]);
  });

  test('by-the-whole-names-of-workers-too', async () => {
    const world = await WorkersWorld.of(['a', 'b']);
    const operation = await world.drain(['edge.a', 'b']);
    expect(['a', 'b'].map((node) => world.worker(node)?.work?.operation)).toEqual([operation, operation]);
  });

  test.each([
    [{ workers: { nodes: ['a', 'x'] } }, 'unknown-worker', '/workers/1'],
    [{ workers: { nodes: ['a', 'a'] } }, 'duplicate-worker', '/workers/1'],
    [{ workers: { nodes: ['a', 'edge.a'] } }, 'duplicate-worker', '/workers/1'],
    [{ workers: { nodes: ['a', 'north.a'] } }, 'worker-of-other-cluster', '/workers/1'],
    [{ workers: {} }, 'workers-or-count', '/workers'],
    [{ workers: { nodes: ['a'], count: 1 } }, 'workers-or-count', '/workers'],
    [{ workers: { count: 0 } }, 'wrong-worker-count', '/count'],
    [{ workers: { count: 501 } }, 'wrong-worker-count', '/count'],
    [{ workers: { count: 2 } }, 'too-few-workers', '/count'],
    [{ cluster: 'x', workers: { nodes: ['a'] } }, 'unknown-cluster', undefined],
  ])('%j is refused: %s', async (facts, code, field) => {
    const world = await WorkersWorld.of(['a']);
    const before = world.fleet.revision;
    const refusal = await world.refuseDrain(facts);
    expect({ code: refusal.code, field: refusal.field }).toEqual({ code, field });
    expect(world.fleet.revision).toBe(before);
  });
});
