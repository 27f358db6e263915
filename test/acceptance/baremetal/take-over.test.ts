// What is promised of managers that are lost, on a whole control plane in simulated time: manager programs, leases, simulated machines that note every
// call, and every invariant of the product after every commit. Named after docs/acceptance.md.
import { afterEach, describe, expect, test } from 'vitest';
import { NODE, RESERVATION } from '../../../src/baremetal/index.ts';
import { switchPower } from '../../../src/baremetal/builder/power-operation.ts';
import { acquireNodes } from '../../../src/baremetal/managers/acquire.ts';
import { stopManager } from '../../../src/baremetal/managers/decide.ts';
import { MANAGED_NODES } from '../../../src/baremetal/managers/managed-nodes.ts';
import { ManagedPlane } from '../../../src/baremetal/managers/managed-plane-fixture.ts';
import { idsOf, managersOf, measure, stateOf } from '../../../src/baremetal/managers/managers-on-plane-fixture.ts';
import { parseReservationBody, type ReservationBody } from '../../../src/baremetal/matching/request.ts';
import { putNode } from '../../../src/baremetal/nodes-fixture.ts';
import { reserveNode } from '../../../src/baremetal/reservations/reserve.ts';
import { idOf, put, type Change } from '../../../src/fleet/index.ts';
import { INSTANCE, type Instance } from '../../../src/instances/index.ts';
import { PROGRAM } from '../../../src/main/modules.ts';
import { OPERATION } from '../../../src/operations/index.ts';

/** A lease of 15 s, and what comes after it. */
const TAKE_OVER_MS = 20_000;

const byText = (one: string, other: string): number => one.localeCompare(other);

let plane: ManagedPlane;

afterEach(() => {
  expect(plane.violations).toEqual([]);
});

async function start(): Promise<void> {
  plane = new ManagedPlane({ newRegistry: () => PROGRAM.newRegistry(), kinds: PROGRAM.operationKinds });
  await plane.start('s1');
  await plane.clock.until('a server decides', () => plane.hasHolder);
}

/** The instance of a node, as its build left it. */
function activeInstance(node: string): Change {
  const name = `of-${node}`;
  const doc: Instance = {
    ...{ name, project: 'default', flavor: 'metal', amounts: { vcpus: 4, memoryMiB: 1024, diskGiB: 10 } },
    place: { aggregates: [], requiredTraits: [], forbiddenTraits: [] },
    ...{
      state: 'active',
      builder: 'bare-metal',
      node,
      power: 'on',
      nics: [],
      path: { create: 'conductor', bind: 'host' },
    },
    ...{ attempts: [{ nth: 1, node, manager: 'm1', pools: [], atMs: 0 }], attemptsMax: 3, wasActive: true },
    ...{ createdBy: 'test', createdAtMs: 0, changedBy: 'test', changedAtMs: 0 },
  };
  return put(INSTANCE, idOf(INSTANCE, name), doc);
}

/** The reservation of a node, as the build of its instance requested it. */
function reserveByBuild(node: string): Change {
  const id = idOf(RESERVATION, `of-${node}`);
  const { doc } = plane.fleet.get(RESERVATION, id)!;
  return put(RESERVATION, id, { ...doc, request: { build: `op-0.of-${node}` } });
}

async function reboot(instance: string): Promise<string> {
  const operation = idOf(OPERATION, plane.id('op'));
  const command = {
    id: instance,
    power: 'reboot',
    operation,
    by: 'ann',
    nowMs: plane.clock.nowMs(),
    deadlineMs: 10 ** 7,
  } as const;
  await plane.submit((fleet) => switchPower(fleet, command));
  return operation;
}

test('baremetal-17: 1000 active instances, their manager dies: a peer reboots them, on the same nodes, and nothing is built anew', async () => {
  await start();
  const [first] = await managersOf(plane, 'm1', 'm2', 'm3');
  const ids = idsOf(1000, 'n');
  await plane.give('m1', ids);
  await plane.commit(...ids.flatMap((id) => [activeInstance(id), reserveByBuild(id)]));
  await plane.clock.pass(20_000);
  first!.kill();
  // One is requested before the loss of the manager is detected.
  const early = await reboot('of-n0007');
  const tookMs = await measure(plane, 'all are managed', () => plane.nodesOf('m1').length === 0);
  expect(tookMs).toBeLessThanOrEqual(TAKE_OVER_MS);
  const late = [await reboot('of-n0000'), await reboot('of-n0999')];
  await plane.clock.until('all are rebooted', () =>
    [early, ...late].every((one) => stateOf(plane, one) === 'succeeded'),
  );
  const calls = plane.calls();
  expect(calls.map(({ op, node, instance, result }) => `${op} ${node} ${instance} ${result}`).toSorted(byText)).toEqual(
    ['n0000', 'n0007', 'n0999'].map((node) => `reboot ${node} of-${node} applied`),
  );
  for (const { manager } of calls) expect(['m2', 'm3']).toContain(manager);
  for (const id of ids) {
    expect(plane.node(id)).toMatchObject({ state: 'active', instance: `of-${id}`, epoch: 2 });
    expect(plane.fleet.get(INSTANCE, idOf(INSTANCE, `of-${id}`))?.doc).toMatchObject({ state: 'active', node: id });
  }
  expect([plane.nodesOf('m2').length, plane.nodesOf('m3').length]).toEqual([500, 500]);
}, 60_000);

describe('baremetal-20: two managers take over one node', () => {
  test('both programs are offered it: one of them has it, its epoch grew by one', async () => {
    await start();
    const [first] = await managersOf(plane, 'm1', 'm2', 'm3');
    await plane.give('m1', ['n1']);
    await plane.clock.pass(20_000);
    first!.kill();
    await plane.clock.until('it is taken over', () => plane.node('n1').manager !== 'm1');
    const { manager } = plane.node('n1');
    await plane.clock.pass(60_000);
    expect(plane.node('n1')).toMatchObject({ manager, epoch: 2 });
  });

  test('both requests arrive at once: the one gets it, the other one nothing', async () => {
    await start();
    const [first] = await managersOf(plane, 'm1', 'm2', 'm3');
    await plane.give('m1', ['n1']);
    await plane.clock.pass(20_000);
    first!.kill();
    const nowMs = plane.clock.nowMs();
    const tenure = (manager: string) => {
      const { holder, leaseEpoch } = plane.manager(manager);
      return { manager, holder, leaseEpoch, by: manager, nowMs };
    };
    const acquire = (manager: string) => {
      const command = { ...tenure(manager), kinds: PROGRAM.operationKinds, ownOnly: false };
      return plane.submit((fleet) => acquireNodes(fleet, { ...command, isLeaseLive: plane.holder.leases.isLive }));
    };
    // In one turn: neither program is faster.
    const [, ...answers] = await Promise.all([
      plane.submit((fleet) => stopManager(fleet, tenure('m1'))),
      acquire('m3'),
      acquire('m2'),
    ]);
    expect(answers).toEqual([
      { acquired: 1, left: 0 },
      { acquired: 0, left: 0 },
    ]);
    expect(plane.node('n1')).toMatchObject({ manager: 'm3', epoch: 2 });
  });
});

test('baremetal-33: 10^4 nodes of a manager that is lost: all are managed within a minute, and reservations go on meanwhile', async () => {
  await start();
  const [first] = await managersOf(plane, 'm1', 'm2', 'm3', 'm4');
  const ids = idsOf(10_000, 'n');
  await plane.give('m1', ids);
  await plane.commit(...idsOf(100, 'free-').map((id) => putNode(id)));
  await plane.clock.pass(20_000);
  first!.kill();
  // With each batch that changes hands a node is requested.
  const asked: Promise<string>[] = [];
  let left = ids.length;
  const stop = plane.holder.journal.onCommit(() => {
    const now = plane.fleet.projection(MANAGED_NODES).countOf('m1');
    if (now < left && now > 0) asked.push(reserve(`new-${asked.length}`));
    left = now;
  });
  await plane.clock.until('it is lost', () => plane.manager('m1').state === 'lost');
  const tookMs = await measure(plane, 'all are managed', () => plane.nodesOf('m1').length === 0);
  stop();
  expect(tookMs).toBeLessThan(60_000);
  const reserved = await Promise.all(asked);
  expect(reserved.length).toBeGreaterThan(2);
  expect(new Set(reserved).size).toBe(reserved.length);
  for (const id of ids) expect(plane.node(id).epoch).toBe(2);
  const counts = ['m2', 'm3', 'm4'].map((name) => plane.nodesOf(name).length);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(reserved.length + 1);
  expect(plane.calls()).toEqual([]);
}, 60_000);

/** By the endpoint's own decision, for manager `m2`; answers the node. */
async function reserve(instance: string): Promise<string> {
  const body: ReservationBody = { instance_uuid: instance, manager: 'm2' };
  const request = parseReservationBody(body);
  if (!('requirements' in request)) throw new Error('malformed');
  const answer = await plane.submit((fleet) =>
    reserveNode(fleet, {
      ...{ request, body, digest: instance, operation: idOf(OPERATION, plane.id('op')), by: 'ann' },
      nowMs: plane.clock.nowMs(),
      isVisible: () => true,
      claimModeOf: () => 'inline',
      isLeaseLive: plane.holder.leases.isLive,
    }),
  );
  if (answer.kind !== 'reserved') throw new Error(`not reserved: ${answer.kind}`);
  return [...plane.fleet.all(NODE)].find(({ doc }) => doc.instance === instance)!.id;
}
