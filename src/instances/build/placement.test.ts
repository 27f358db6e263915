import { describe, expect, test } from 'vitest';
import { put } from '../../fleet/index.ts';
import { findHost, HOST } from '../../hosts/index.ts';
import { accept } from '../../journal/index.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { placeInstance, portsOf } from './placement.ts';

describe('placing an instance', () => {
  test('reports-why-there-is-no-host, unless a brief answer is requested', async () => {
    const world = await InstancesWorld.of();
    await world.create();
    const instance = world.instance('web');
    if (instance === undefined) throw new Error('web is not there');
    const huge = { ...instance, attempts: [], amounts: { ...instance.amounts, vcpus: 99_999 } };
    const ports = portsOf(world.fleet, instance);
    const request = { id: 'web', instance: huge, ports, role: 'home', by: 'ann', nowMs: world.nowMs } as const;
    const outcome = placeInstance(world.fleet, request);
    expect(outcome.kind === 'none' && outcome.report.stages.length).toBeGreaterThan(0);
    const brief = placeInstance(world.fleet, { ...request, brief: true });
    expect(brief).toMatchObject({ kind: 'none', report: { stages: [] } });
  });

  test('hosts-that-do-not-know-the-path-of-the-build-are-left-out', async () => {
    const world = await InstancesWorld.of();
    await world.create();
    const instance = world.instance('web');
    if (instance === undefined) throw new Error('web is not there');
    const ports = portsOf(world.fleet, instance);
    const request = { id: 'web', instance, ports, role: 'home', by: 'ann', nowMs: world.nowMs } as const;
    expect(placeInstance(world.fleet, request).kind).toBe('placed');
    await world.commit((fleet) => {
      const hosts = ['h1', 'h2', 'h3', 'h4', 'h5']
        .map((id) => findHost(fleet, id))
        .filter((host) => host !== undefined);
      return accept(
        hosts.map(({ id, doc }) => put(HOST, id, { ...doc, serviceVersion: 1 })),
        null,
      );
    });
    const none = placeInstance(world.fleet, request);
    expect(none).toMatchObject({ kind: 'none' });
    const causes = none.kind === 'none' ? none.report.stages.map(({ cause }) => cause) : [];
    expect(causes).toContain('host-too-old');
    const old = { ...instance, path: { create: 'host', bind: 'host' } } as const;
    expect(placeInstance(world.fleet, { ...request, instance: old }).kind).toBe('placed');
  });
});
