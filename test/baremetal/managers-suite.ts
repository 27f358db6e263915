// What managers and servers as real processes are held to, whatever the store is: killed, halted and stopped while machines are deployed.
import { expect, onTestFinished, test } from 'vitest';
import { ProcessPlane, type CallRow, type NodeRow, type ProcessPlaneOptions } from './process-plane.ts';

/** Several leases run out one after the other, on a machine that is busy with other tests. */
export const TEST_MS = 600_000;

export async function start(options: ProcessPlaneOptions): Promise<ProcessPlane> {
  const plane = await ProcessPlane.start(options);
  onTestFinished(() => plane.stop());
  return plane;
}

const isDeploy = ({ op, result }: CallRow): boolean => op === 'deploy' && result === 'applied';

/** Each instance has one node, each of those was deployed once, for that instance. */
export async function expectDeployedOnce(plane: ProcessPlane, count: number): Promise<void> {
  const nodes = (await plane.nodes()).filter(({ instance }) => instance !== undefined);
  expect(nodes.map(({ state }) => state)).toEqual(Array.from({ length: count }, () => 'active'));
  const nodeOf = new Map((await plane.instances()).map(({ id, node }) => [id, node]));
  const deploys = (await plane.calls()).filter(isDeploy);
  const byNode = (one: string, other: string): number => one.localeCompare(other);
  expect(deploys.map(({ node, instance }) => `${node} ${instance}`).toSorted(byNode)).toEqual(
    nodes.map(({ id, instance }) => `${id} ${instance}`).toSorted(byNode),
  );
  for (const { id, instance = '' } of nodes) expect(nodeOf.get(instance)).toBe(id);
}

export const managedBy = (nodes: readonly NodeRow[], manager: string): NodeRow[] =>
  nodes.filter((one) => one.manager === manager);

/** Waits until some of a manager's machines are being deployed; answers its nodes of then. */
export async function untilDeploying(plane: ProcessPlane, manager: string): Promise<NodeRow[]> {
  let own: NodeRow[] = [];
  await plane.until(`${manager} deploys`, async () => {
    const begun = new Set((await plane.calls()).filter((call) => isDeploy(call)).map(({ node }) => node));
    own = managedBy(await plane.nodes(), manager).filter(({ id, state }) => state === 'deploying' && begun.has(id));
    return own.length >= 3;
  });
  return own;
}

export async function untilTakenOver(plane: ProcessPlane, manager: string): Promise<void> {
  await plane.until(`the nodes of ${manager} are others'`, async () => {
    return managedBy(await plane.nodes(), manager).length === 0;
  });
}

/** They have the same instance as before, under a newer epoch, with another manager. */
export async function expectSameNodes(plane: ProcessPlane, before: readonly NodeRow[]): Promise<void> {
  const now = new Map((await plane.nodes()).map((one) => [one.id, one]));
  for (const { id, instance, epoch, manager } of before) {
    expect(now.get(id)).toMatchObject({ instance });
    expect(now.get(id)?.epoch).toBeGreaterThan(epoch);
    expect(now.get(id)?.manager).not.toBe(manager);
  }
}

type StoreOf = () => Promise<string | undefined>;

export function describeManagers(storeOf: StoreOf): void {
  const open = async (options: ProcessPlaneOptions): Promise<ProcessPlane> => {
    const store = await storeOf();
    return start({ ...options, ...(store !== undefined && { store }) });
  };

  test(
    'kill -9 of a manager in the middle of deploys: the others continue with them, on the same nodes, and nothing is deployed twice',
    async () => {
      const plane = await open({ managers: ['m1', 'm2', 'm3'], deployMs: 8000 });
      await plane.build(24);
      const before = await untilDeploying(plane, 'm1');
      await plane.endManager('m1', 'SIGKILL');
      await untilTakenOver(plane, 'm1');
      await plane.untilActive(24);
      await expectSameNodes(plane, before);
      await expectDeployedOnce(plane, 24);
      expect((await plane.manager('m1')).state).toBe('lost');
    },
    TEST_MS,
  );

  test(
    'SIGSTOP beyond the lease, then SIGCONT: what it had is refused to it as fenced and noted, and it acquires anew',
    async () => {
      const plane = await open({ managers: ['m1', 'm2'], deployMs: 8000 });
      await plane.build(12);
      const before = await untilDeploying(plane, 'm1');
      const { holder, leaseEpoch } = await plane.manager('m1');
      plane.signalManager('m1', 'SIGSTOP');
      await untilTakenOver(plane, 'm1');
      plane.signalManager('m1', 'SIGCONT');
      await plane.until('m1 has registered anew', async () => {
        const now = await plane.manager('m1');
        return now.state === 'live' && now.leaseEpoch > leaseEpoch;
      });
      expect(await plane.manager('m1')).toMatchObject({ holder, leaseEpoch: leaseEpoch + 1 });
      // What a process still has in its buffers when it is halted arrives when it wakes.
      const secret = await plane.managerToken('m1');
      const [{ id, epoch, instance } = before[0]!] = before;
      const late = { action: 'clean', manager: 'm1', nodeEpoch: epoch, instance };
      const fenced = { status: 409, body: { code: 'fenced' } };
      expect(await plane.ask('POST', `/nodes/${id}/actions`, late, secret)).toMatchObject(fenced);
      const under = { holder, leaseEpoch };
      const done = { ...under, task: 'any', node: id, nodeEpoch: epoch, instance, outcome: 'done' };
      expect(await plane.ask('POST', '/managers/m1/answers', done, secret)).toMatchObject(fenced);
      expect(await plane.ask('POST', '/managers/m1/acquire', under, secret)).toMatchObject(fenced);
      expect(await plane.ask('POST', '/managers/m1/renew', under, secret)).toMatchObject({
        ...{ status: 409, body: { code: 'lease-lost' } },
      });
      expect((await plane.calls()).filter(({ result }) => result === 'fenced')).toMatchObject([
        { op: 'clean', node: id, manager: 'm1', epoch, accepted: false },
      ]);
      await plane.untilActive(12);
      await expectSameNodes(plane, before);
      await expectDeployedOnce(plane, 12);
      // By its own clock its lease was over: it did nothing more to a machine that it had.
      const own = new Set(before.map((one) => one.id));
      const byM1 = (await plane.calls()).filter(
        ({ manager, node, accepted }) => manager === 'm1' && own.has(node) && accepted,
      );
      expect(byM1.map(({ op }) => op)).toEqual(before.map(() => 'deploy'));
      await plane.endManager('m2', 'SIGTERM');
      await untilTakenOver(plane, 'm2');
      const nodes = await plane.nodes();
      expect(managedBy(nodes, 'm1').map(({ managerEpoch }) => managerEpoch)).toEqual(
        Array.from({ length: 12 }, () => leaseEpoch + 1),
      );
    },
    TEST_MS,
  );

  test(
    'kill -9 of the server in the middle of 100 builds: after its restart all are finished, and none is built twice',
    async () => {
      const plane = await open({ managers: ['m1', 'm2', 'm3'], deployMs: 2000 });
      await plane.build(100);
      await plane.until('a third of them is deployed or begun', async () => {
        return (await plane.calls()).filter(isDeploy).length > 33;
      });
      const before = (await plane.nodes()).filter(({ instance }) => instance !== undefined);
      await plane.killServer(0);
      await plane.restartServer(0);
      await plane.untilActive(100);
      await expectDeployedOnce(plane, 100);
      // The server was away, no manager was: each came back to its own nodes, if its lease ran out meanwhile under a new one.
      const now = new Map((await plane.nodes()).map((one) => [one.id, one]));
      for (const { id, instance, manager } of before) expect(now.get(id)).toMatchObject({ instance, manager });
      expect((await plane.managers()).map(({ name, state }) => [name, state])).toEqual(
        ['m1', 'm2', 'm3'].map((name) => [name, 'live']),
      );
    },
    TEST_MS,
  );
}
