// Less usual sequences, over the API: a tenant appears on a drained host, and hosts join with a rebalance of services.
import { describe, expect, test } from 'vitest';
import { SERVICE } from '../../../src/election/index.ts';
import { idOf, put } from '../../../src/fleet/index.ts';
import { INSTANCE } from '../../../src/instances/index.ts';
import { CLAIM, claimId, PORT } from '../../../src/network/index.ts';
import { HttpApi } from './http-fixture.ts';
import { areJoined, expectSound, sendsTo, servers, watchSwitches } from './switches-fixture.ts';
import { HOSTS, scaleInWorld, tunnelAddress, type ScaleInAcceptanceWorld } from './world-fixture.ts';

interface Status {
  readonly hosts: readonly { readonly host: string; readonly state: string; readonly operation?: string }[];
}

async function statusOf(http: HttpApi, host: string): Promise<Status['hosts'][number] | undefined> {
  const { body } = await http.get('/api/v1/scale-in');
  return (body as Status).hosts.find((one) => one.host === host);
}

/** Moves an instance by hand, past every choice of the control plane, and records its host. */
async function moveByHand(world: ScaleInAcceptanceWorld, name: string, host: string): Promise<void> {
  const { host: from = '', nics, ...instance } = world.instance(name);
  const [claim, machine] = [world.claim(name), world.agents.hypervisorOf(from)?.instance(name)];
  if (claim === undefined || machine === undefined) throw new Error(`${name} is not at ${from}`);
  world.agents.hypervisorOf(host)?.put(machine);
  world.agents.hypervisorOf(from)?.remove(name);
  const ports = nics.map(({ port: id }) => {
    const { binding, ...port } = world.port(id);
    const serial = port.serial + 1;
    return put(PORT, idOf(PORT, id), { ...port, serial, binding: { type: 'ovs', ...binding, host, serial } });
  });
  await world.put(
    put(INSTANCE, idOf(INSTANCE, name), { ...instance, nics, host }),
    put(CLAIM, claimId(name, 'home'), { ...claim, host }),
    ...ports,
  );
}

const cannotMove = { task: 'migrate', problem: 'the memory changes too fast', fault: 'migration-failed' } as const;

describe('a drained host on which something appears', () => {
  test('is-draining-again-and-says-what-it-waits-for, and can be removed only when that is resolved', async () => {
    const world = await scaleInWorld();
    const http = await HttpApi.start(world);
    await world.place('late', 'b');
    expect(await http.post('/api/v1/scale-in/start', { hosts: ['a'] })).toMatchObject({ status: 202 });
    await world.untilState('drained', 'a');
    await world.settle();
    const first = await statusOf(http, 'a');
    world.agents.hypervisorOf('a')?.arm({ ...cannotMove, times: 1000 });
    await moveByHand(world, 'late', 'a');
    await world.until('it is draining again', () => world.states('a')[0] === 'draining');
    const { operation = '' } = world.host('a').leaving ?? {};
    await world.until('it says why it waits', () => world.item(operation, 'a').reason?.code === 'move-failed');
    expect(operation).not.toBe(first?.operation);
    expect(await statusOf(http, 'a')).toMatchObject({
      state: 'draining',
      operation,
      left: { instances: 1, ports: 0 },
      sentence: expect.stringContaining('late') as string,
    });
    const end = { hosts: ['a'], disconnect: true };
    const { status, body } = await http.post('/api/v1/scale-in/end', end);
    expect([status, JSON.stringify(body)]).toEqual([409, expect.stringContaining('"lives-here"')]);
    // What was in its way is over: it is emptied as before, and goes.
    world.agents.hypervisorOf('a')?.disarm();
    await world.untilState('drained', 'a');
    await world.settle();
    expect(world.instance('late').host).not.toBe('a');
    expect(world.copies('late')).toEqual([world.instance('late').host]);
    expect(await http.post('/api/v1/scale-in/end', end)).toMatchObject({ status: 202 });
    await world.untilState('removed', 'a');
    await world.settle();
    expectSound(world);
  });
});

const SERVICES = ['nat:edge', 'subnet-route:sub', 'dhcp:sub'];

describe('scale-out', () => {
  test.each([
    ['without a request, nothing healthy moves', false, ['a', 'a', 'a']],
    ['services are rebalanced over all candidates, without a gap', true, ['a', 'b', 'c']],
  ] as const)('%s', async (_name, rebalance, hosts) => {
    const world = await scaleInWorld({ dhcp: true });
    const http = await HttpApi.start(world);
    for (const [name, host] of Object.entries({ one: 'a', two: 'b', three: 'c' })) await world.place(name, host);
    await world.settle();
    expect(SERVICES.map((id) => world.designatedHostOf(id))).toEqual(['a', 'a', 'a']);
    const watch = watchSwitches(world, ...SERVICES);
    const spec = { name: 'h', tunnelAddress: tunnelAddress('h'), capacity: { vcpus: 8, memoryMiB: 8192, diskGiB: 9 } };
    const answer = await http.post('/api/v1/scale-out', { hosts: [spec], rebalance, reason: 'more room' });
    expect(answer).toMatchObject({ status: 202, body: { count: 1 } });
    world.agents.start('h');
    await world.untilState('active', 'h');
    const { operation } = answer.body as { readonly operation: string };
    await world.until('it is done', () => world.operationDoc(operation).state === 'succeeded');
    await world.settle();
    watch.stop();
    expect(SERVICES.map((id) => world.designatedHostOf(id) ?? '').toSorted()).toEqual(hosts);
    for (const { id, doc } of world.all(SERVICE)) expect(servers(world, id)).toEqual([doc.designated?.host]);
    // The new host has tunnels to all others, and sends to the designated hosts of services that it has presence for.
    for (const host of HOSTS) expect(areJoined(world, host, 'h')).toBe(true);
    await world.place('four', 'h');
    await world.settle();
    const away = ['nat:edge', 'dhcp:sub'].map((id) => world.designatedHostOf(id) ?? '');
    expect(sendsTo(world, 'h')).toEqual([...new Set(away)].toSorted());
    expectSound(world);
  });
});
