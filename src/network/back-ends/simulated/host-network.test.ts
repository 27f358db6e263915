// The simulated back end as an older host uses it.
import { describe, expect, test } from 'vitest';
import { world } from './world-fixture.ts';

describe('the host side', () => {
  const nic = (more = {}) => ({
    ...{ port: 'p0', nic: 0, network: 'n', mac: 'fa:16:3e:00:00:00', serial: 1, addresses: [] },
    ...({ createdBy: 'muster', pool: 'segment:near' } as const),
    ...more,
  });

  test('an-old-host-makes-binds-and-deletes-its-ports', async () => {
    const { network, reports } = world();
    const request = { instance: 'web', host: 'h1', nics: [nic()] };
    expect(await network.hostNetwork.create(request)).toMatchObject([{ outcome: 'ok', addresses: [] }]);
    const [bound] = await network.hostNetwork.bind(request);
    expect(bound).toMatchObject({ outcome: 'ok', type: 'simulated' });
    expect(bound?.addresses?.map(({ ip }) => ip)).toEqual(['10.0.0.2', '2001:db8::10']);
    expect(reports).toHaveLength(1);
    expect(await network.hostNetwork.release({ ...request, nics: [nic({ serial: 0 })] })).toMatchObject([
      { outcome: 'ok' },
    ]);
    expect(network.port('p0')).toBeUndefined();
    expect(network.calls.list().every(({ by, host }) => by === 'host' && (host ?? 'h1') === 'h1')).toBe(true);
  });

  test('a-made-port-is-found-never-made-twice', async () => {
    const { network, create } = world();
    await create([{ fixedIps: [{ ip: '10.0.0.3', subnet: 'near' }] }]);
    const request = { instance: 'web', host: 'h1', nics: [nic({ addresses: ['10.0.0.3'] })] };
    await network.hostNetwork.create(request);
    const [bound] = await network.hostNetwork.bind(request);
    expect(bound?.addresses).toEqual([{ ip: '10.0.0.3', subnet: 'near' }]);
  });

  test('a-port-without-addresses-gets-none-when-the-task-says-so', async () => {
    const { network } = world();
    const request = { instance: 'web', host: 'h1', nics: [nic({ takes: [] })] };
    await network.hostNetwork.create(request);
    expect(await network.hostNetwork.bind(request)).toMatchObject([{ outcome: 'ok', addresses: [] }]);
  });

  test('a-users-port-is-known-at-the-back-end-and-other-instances-do-not-get-it', async () => {
    const { network } = world();
    const user = nic({ createdBy: 'user', addresses: ['10.0.0.3'] });
    const request = { instance: 'web', host: 'h1', nics: [user] };
    expect(await network.hostNetwork.bind(request)).toMatchObject([{ outcome: 'ok' }]);
    expect(await network.hostNetwork.bind({ ...request, instance: 'db' })).toMatchObject([{ outcome: 'taken' }]);
    expect(await network.hostNetwork.bind({ ...request, nics: [{ ...user, serial: 0 }] })).toMatchObject([
      { outcome: 'taken' },
    ]);
    await network.hostNetwork.release(request);
    expect(network.port('p0')).toMatchObject({ instance: undefined });
  });

  test('a-users-port-is-handed-back-with-the-addresses-that-the-task-says', async () => {
    const { network } = world();
    const user = nic({ createdBy: 'user' });
    const request = { instance: 'web', host: 'h1', nics: [user] };
    const [bound] = await network.hostNetwork.bind(request);
    const [kept] = bound?.addresses ?? [];
    await network.hostNetwork.release({ ...request, nics: [{ ...user, addresses: [kept?.ip ?? ''] }] });
    expect(network.port('p0')?.addresses).toMatchObject([{ ip: kept?.ip }]);
    await network.hostNetwork.release(request);
    expect(network.port('p0')?.addresses).toEqual([]);
  });
});
