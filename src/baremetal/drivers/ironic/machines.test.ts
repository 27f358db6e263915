// The machine driver on a small Ironic in memory: the contract of machine drivers, and when a node counts as clean. The same on a real one: `npm run test:ironic`.
import { describe, expect, test } from 'vitest';
import { isDone } from '../../manager/machine-task.ts';
import { machineContract, type MachineHarness } from '../contract.ts';
import type { InventoryCallOptions, MachineAction, NodeFence } from '../inventory.ts';
import { IronicInventory } from './inventory-driver.ts';
import { IronicServer, type ServedNode } from './ironic-server-fixture.ts';
import { IronicMachines } from './machine-driver.ts';

const NEVER: InventoryCallOptions = { signal: new AbortController().signal };
const N1 = '00000000-0000-4000-9000-000000000001';
const N2 = '00000000-0000-4000-9000-000000000002';
const THEIRS = '11111111-1111-4111-8111-111111111111';

async function start(minor = 80) {
  const ironic = await IronicServer.start();
  ironic.minor = minor;
  for (const uuid of [N1, N2]) ironic.add(uuid);
  const inventory = new IronicInventory(ironic.client());
  const entitle = async (fence: NodeFence): Promise<void> => {
    const claimed = await inventory.claim({ ...fence, traits: [] }, NEVER);
    if (claimed.kind !== 'applied' && claimed.kind !== 'already') throw new Error(JSON.stringify(claimed));
  };
  const driver = new IronicMachines(ironic.client());
  const fence: NodeFence = { node: N1, nodeEpoch: 5, instance: 'a' };
  return { ironic, inventory, driver, entitle, fence };
}

for (const [name, minor] of [
  ['ironic', 80],
  ['ironic before allocations', 46],
] as const)
  machineContract({
    name,
    epochs: 'of-claims',
    start: async (): Promise<MachineHarness> => {
      const { ironic, driver, entitle } = await start(minor);
      const begun: { node: string; target: string }[] = [];
      ironic.provisioning.onProvision = (node, target) => begun.push({ node, target });
      return {
        ...{ driver, entitle, nodes: [N1, N2] },
        failNext: async (action) => {
          if (action === 'deploy' || action === 'clean') ironic.provisioning.failNext(action);
        },
        countBegun: async (node, action) => {
          const target = action === 'deploy' ? 'active' : 'deleted';
          return begun.filter((one) => one.node === node && one.target === target).length;
        },
        close: () => ironic.close(),
      };
    },
  });

async function bench() {
  const { ironic, inventory, driver, entitle, fence } = await start();
  await entitle(fence);
  const call = (action: MachineAction, more: Partial<NodeFence> = {}, how = NEVER) =>
    driver.carryOut({ ...fence, ...more, action, manager: 'm1', args: { image: 'http://images/debian' } }, how);
  const writes = (): readonly string[] =>
    ironic.calls.filter((one) => !one.startsWith('GET') && !one.includes('allocations'));
  const node = (): ServedNode => ironic.nodes.get(N1) as ServedNode;
  return { ironic, inventory, driver, fence, call, writes, node };
}

describe('a node is clean when Ironic says that it is available', () => {
  test.each([
    ...[
      'enroll',
      'verifying',
      'manageable',
      'inspecting',
      'inspect wait',
      'inspect failed',
      'adopting',
      'adopt failed',
    ],
    ...['active', 'deploying', 'wait call-back', 'deploy hold', 'deploy failed', 'error', 'rebuild'],
    ...['rescue', 'rescuing', 'rescue wait', 'rescue failed', 'unrescuing', 'unrescue failed'],
    ...['servicing', 'service wait', 'service hold', 'service failed', 'clean hold', 'clean failed', 'cleaning'],
    ...['a state of a later version', 'constructor'],
  ])('never: one that is "%s" counts as clean', async (state) => {
    const { ironic, driver, fence } = await bench();
    ironic.change(N1, { provision_state: state });
    const status = await driver.inspect(fence, NEVER);
    expect(isDone('clean', status, fence.instance)).toBe(false);
    ironic.change(N1, { instance_uuid: null });
    expect(isDone('clean', await driver.inspect(fence, NEVER), fence.instance)).toBe(false);
  });

  test.each(['rescue', 'rescue wait', 'rescue failed', 'unrescue failed', 'error'])(
    'one that is "%s" is torn down and cleaned',
    async (state) => {
      const { ironic, call, node } = await bench();
      await call('deploy');
      ironic.change(N1, { provision_state: state });
      expect(await call('clean')).toEqual({ kind: 'applied' });
      expect(node()).toMatchObject({ provision_state: 'available', instance_uuid: null, extra: {} });
    },
  );

  test.each([
    ['rescuing', 'rescue'],
    ['servicing', 'active'],
    ['deploying', 'active'],
  ])('one that is "%s" is waited for, and cleaned then', async (state, next) => {
    const { ironic, call, node } = await bench();
    await call('deploy');
    ironic.change(N1, { provision_state: state });
    let looks = 0;
    ironic.beforeShown = (shown) => {
      if (shown.provision_state === state && (looks += 1) === 4) shown.provision_state = next;
    };
    expect(await call('clean')).toEqual({ kind: 'applied' });
    expect(node().provision_state).toBe('available');
  });

  test.each(['enroll', 'inspect failed', 'adopt failed', 'a state of a later version'])(
    'one that is "%s" is not cleaned, and that is said',
    async (state) => {
      const { ironic, call, writes } = await bench();
      ironic.change(N1, { provision_state: state });
      const before = writes().length;
      expect(await call('clean')).toEqual({
        kind: 'failed',
        reason: { code: 'clean-failed', message: `Ironic says that the node is "${state}".` },
      });
      expect(writes()).toHaveLength(before);
    },
  );
});

describe('a cleaning that another manager began', () => {
  /** The first manager is lost while Ironic cleans: it has ended the claim by then. */
  async function cleaning() {
    const world = await bench();
    const { ironic, call, node } = world;
    await call('deploy');
    const first = new AbortController();
    ironic.beforeShown = ({ provision_state: state }) => {
      if (state !== 'cleaning') return;
      ironic.provisioning.held.add(N1);
      first.abort(new Error('the first manager is lost'));
    };
    await expect(call('clean', {}, { signal: first.signal })).rejects.toThrow('the first manager is lost');
    expect(node()).toMatchObject({ provision_state: 'cleaning', instance_uuid: null });
    ironic.beforeShown = () => undefined;
    const restart = (): void => {
      ironic.provisioning.held.delete(N1);
      ironic.provisioning.restart(node());
    };
    return { ...world, restart };
  }

  test('is waited for, and not begun again', async () => {
    const { ironic, call, writes, node } = await cleaning();
    const before = writes().filter((one) => one.endsWith('provision')).length;
    let looks = 0;
    ironic.beforeShown = () => {
      if ((looks += 1) === 5) ironic.provisioning.held.delete(N1);
    };
    expect(await call('clean', { nodeEpoch: 6 })).toEqual({ kind: 'already' });
    expect(looks).toBeGreaterThanOrEqual(5);
    expect(node()).toMatchObject({ provision_state: 'available', extra: {} });
    expect(writes().filter((one) => one.endsWith('provision'))).toHaveLength(before);
  });

  test('that fails is begun once more, and when that fails as well it has failed', async () => {
    const { ironic, call, node, restart } = await cleaning();
    restart();
    ironic.provisioning.failNext('clean');
    const failed = { kind: 'failed', reason: { code: 'clean-failed', message: 'A disk was not erased.' } };
    expect(await call('clean', { nodeEpoch: 6 })).toEqual(failed);
    expect(await call('clean', { nodeEpoch: 6 })).toEqual({ kind: 'applied' });
    expect(node()).toMatchObject({ provision_state: 'available', maintenance: false, extra: {} });
  });

  test('of a tear-down that failed, which ends the claim as well, is begun again', async () => {
    const { ironic, call, node } = await bench();
    await call('deploy');
    ironic.provisioning.failNext('tear-down');
    expect(await call('clean')).toMatchObject({ kind: 'failed', reason: { code: 'clean-failed' } });
    expect(node()).toMatchObject({ provision_state: 'error', instance_uuid: null });
    expect(await call('clean')).toEqual({ kind: 'applied' });
  });

  test('of an instance that is not known to be ours is waited for, and not begun again when it fails', async () => {
    const { ironic, call, node, restart } = await cleaning();
    ironic.change(N1, { extra: {} });
    restart();
    expect(await call('clean')).toMatchObject({ kind: 'failed', reason: { code: 'clean-failed' } });
    expect(node().provision_state).toBe('clean failed');
  });
});

describe('what a node is deployed with', () => {
  const deploy = async (args: object) => {
    const { driver, fence, node } = await bench();
    const outcome = await driver.carryOut({ ...fence, action: 'deploy', manager: 'm1', args: { ...args } }, NEVER);
    return { outcome, info: node().instance_info, state: node().provision_state };
  };

  test('is the image, what it says of its form, and how the disk is divided', async () => {
    const imageProperties = {
      kernel: 'http://images/k',
      image_type: 'partition',
      configdrive: 'x',
      os_distro: 'debian',
    };
    const sizes = { rootGiB: 20, ephemeralGiB: 10, swapMiB: 512 };
    expect((await deploy({ image: 'http://images/debian', imageProperties, ...sizes })).info).toEqual({
      ...{ image_source: 'http://images/debian', kernel: 'http://images/k', image_type: 'partition' },
      ...{ root_gb: 20, ephemeral_gb: 10, swap_mb: 512 },
    });
    expect((await deploy({ image: 'debian', rootGiB: 20, ephemeralGiB: 0 })).info).toEqual({
      ...{ image_source: 'debian', root_gb: 20 },
    });
  });

  test.each([
    { image: 'file:///etc/ironic/ironic.conf' },
    { image: 'debian', imageProperties: { ramdisk: 'file:///etc/shadow' } },
  ])('never: %j is fetched, whoever requests it', async (args) => {
    const { outcome, info, state } = await deploy(args);
    expect(outcome).toMatchObject({ kind: 'failed', reason: { code: 'deploy-failed' } });
    expect([info, state]).toEqual([{}, 'available']);
  });
});

describe('a machine whose claim is gone', () => {
  const NOT_OURS = { kind: 'stale', reason: { code: 'machine-not-ours' } };
  const ACTIONS = ['clean', 'power-off', 'reboot', 'deploy', 'connect', 'disconnect'] as const;

  test.each(ACTIONS)('never: %s does anything to it while it is in use', async (action) => {
    const { ironic, call, writes } = await bench();
    await call('deploy');
    ironic.change(N1, { instance_uuid: null });
    const before = writes().length;
    expect(await call(action)).toMatchObject(NOT_OURS);
    expect(writes()).toHaveLength(before);
  });

  test.each(ACTIONS)('never: %s does anything to it once another client has it', async (action) => {
    const { ironic, call, writes } = await bench();
    await call('deploy');
    for (const state of ['active', 'available', 'clean failed', 'cleaning', 'manageable']) {
      ironic.change(N1, { instance_uuid: THEIRS, provision_state: state });
      const before = writes().length;
      expect(await call(action)).toMatchObject(NOT_OURS);
      expect(writes()).toHaveLength(before);
    }
  });
});
