// A real switch whose sockets are cut while its agent lives, and one into which another program plugs something: what the agent reports, and
// what becomes of its host. Packets still pass the switch meanwhile: only the way to control it is cut.
import { createServer, connect, type Server, type Socket } from 'node:net';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ALARM } from '../../src/alarms/index.ts';
import { TestHost } from '../../src/agent/node/agent-fixture.ts';
import { TestControlPlane } from '../../src/agent/server/control-plane-fixture.ts';
import { SimulatedNodeDriver } from '../../src/agent/runtime.ts';
import { interfaceOf } from '../../src/dataplane/index.ts';
import { OvsSwitch } from '../../src/dataplane/runtime.ts';
import { realClock } from '../../src/main/clock.ts';
import { start, type OvsDaemons } from './ovs-daemons.ts';
import { ovsSuite } from './suite.ts';

const LOOK_MS = 100;
const LOOKS = 900;

async function waitUntil(what: string, look: () => Promise<boolean> | boolean): Promise<void> {
  for (let looks = 0; looks < LOOKS; looks += 1) {
    if (await look()) return;
    await setTimeout(LOOK_MS);
  }
  throw new Error(`never: ${what}`);
}

/** A way to a socket that can be cut and mended, which cannot be done with the socket itself while its daemon runs. */
class CuttableSocket {
  readonly #path: string;
  readonly #to: string;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  constructor(path: string, to: string) {
    this.#path = path;
    this.#to = to;
  }

  async restore(): Promise<void> {
    await rm(this.#path, { force: true });
    const server = createServer((near) => {
      const far = connect(this.#to);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one);
        one.on('error', () => other.destroy());
        one.on('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#path, resolve));
  }

  async cut(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const server = this.#server;
    this.#server = undefined;
    if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()));
    await rm(this.#path, { force: true });
  }
}

ovsSuite('a switch that is out of control', () => {
  let daemons: OvsDaemons;
  let ways: readonly CuttableSocket[];
  let ovs: OvsSwitch;
  let isGone = false;

  beforeAll(async () => {
    daemons = await start();
    await daemons.addBridge('br-int');
  });
  afterAll(() => daemons.close());

  beforeEach(async () => {
    const near = (name: string): string => join(daemons.folder, `${name}.way`);
    const bare = (address: string): string => address.slice('unix:'.length);
    const sockets = { db: daemons.db, of: daemons.bridgeMgmt('br-int'), ctl: daemons.ctl };
    ways = Object.entries(sockets).map(([name, to]) => new CuttableSocket(near(name), bare(to)));
    for (const way of ways) await way.restore();
    ovs = new OvsSwitch({
      database: `unix:${near('db')}`,
      openFlow: `unix:${near('of')}`,
      control: `unix:${near('ctl')}`,
      bridge: 'br-int',
      datapath: 'netdev',
      isDaemonGone: () => isGone,
      clock: realClock,
      random: Math.random,
    });
    await waitUntil('the switch answers', async () => (await ovs.probe()) === undefined);
  });

  afterEach(async () => {
    for (const way of ways) await way.cut();
    await ovs.close();
  });

  const driverOf = (): SimulatedNodeDriver => new SimulatedNodeDriver({ clock: realClock, switch: ovs });

  test('scale-in-cond-1: its host is degraded while the agent lives, forwards on, and is well again by itself', async () => {
    const plane = new TestControlPlane(realClock);
    await plane.start('s1');
    await waitUntil('there is a lease holder', () => plane.hasLeader);
    await plane.register('c1');
    const token = await plane.joinToken('c1');
    const rack = new TestHost(plane, { name: 'c1', joinToken: () => Promise.resolve(token), machine: { switch: ovs } });
    rack.start();
    try {
      await waitUntil('it is in service', () => plane.host('c1')?.state === 'active');
      await daemons.ofctl('add-flow', 'br-int', 'priority=7,ip,actions=drop');
      for (const way of ways) await way.cut();
      await waitUntil('it is degraded', () => plane.host('c1')?.degraded !== undefined);
      const [condition] = plane.host('c1')?.degraded ?? [];
      expect(condition).toMatchObject({ type: 'switch', code: 'unreachable' });
      expect(condition?.message).toContain('database, OpenFlow, control');
      expect(condition?.cannotServe).toBeUndefined();
      expect(plane.host('c1')?.connection.state).toBe('up');
      const alarms = [...plane.leader.journal.fleet.all(ALARM)].map(({ id }): string => id);
      expect(alarms).toEqual(['host-degraded:c1']);
      // By a socket of its own: losing control of a switch is not losing its data path.
      expect(await daemons.ofctl('dump-flows', 'br-int')).toContain('priority=7');
      for (const way of ways) await way.restore();
      await waitUntil('it is well', () => plane.host('c1')?.degraded === undefined);
      expect([...plane.leader.journal.fleet.all(ALARM)]).toEqual([]);
    } finally {
      await rack.stop();
      await plane.close();
    }
  });

  test.each([
    [0, 'database'],
    [1, 'OpenFlow'],
    [2, 'control'],
  ])('one-socket-that-is-cut-is-enough, and it is named: %i %s', async (at, name) => {
    await ways[at]?.cut();
    await waitUntil('it is noticed', async () => (await ovs.probe()) !== undefined);
    expect(await ovs.probe()).toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining(`its ${name} socket`) as string,
    });
    await ways[at]?.restore();
    await waitUntil('it answers', async () => (await ovs.probe()) === undefined);
  });

  test('says-that-it-cannot-serve-when-its-daemon-does-not-run', async () => {
    await daemons.killSwitch();
    isGone = true;
    await waitUntil('it is noticed', async () => (await ovs.probe()) !== undefined);
    expect(await driverOf().conditions()).toEqual([
      { type: 'switch', code: 'not-running', message: 'ovs-vswitchd is not running', cannotServe: true },
    ]);
    isGone = false;
    await daemons.startSwitch();
    await waitUntil('it answers', async () => (await ovs.probe()) === undefined);
  });

  test('scale-in-strays: a foreign interface is reported, also without a device, and keeps the host from leaving', async () => {
    const { signal } = new AbortController();
    const driver = driverOf();
    const port = { id: 'port-1', mac: '02:00:00:00:00:01', network: 'n', addresses: [] };
    const view = {
      host: 'c1',
      stamp: { journalId: 'j', leaseEpoch: 1, revision: 1 },
      digest: 'd',
      parts: { self: {}, peers: [], services: [], instances: [{ id: 'v1', ports: [port] }] },
      tasks: [],
    };
    await daemons.addDummyPort('br-int', interfaceOf('port-1'), 11);
    expect((await driver.apply(view, signal)).kind).not.toBe('failed');
    expect((await driver.inspect()).strays).toEqual([]);
    await daemons.addDummyPort('br-int', 'foreign0', 12);
    await daemons.vsctl('--no-wait', 'add-port', 'br-int', 'nodevice0');
    const strays = ['interface/foreign0', 'interface/nodevice0'];
    await waitUntil('they are found', async () => (await driver.inspect()).strays.length === 2);
    expect((await driver.inspect()).strays).toEqual(strays);
    const fence = { stamp: view.stamp, host: 'c1', serviceVersion: 6, signal };
    const answer = await driver.perform({ id: 't', kind: 'leave', args: { force: false } }, fence);
    expect(answer).toMatchObject({ outcome: 'failed', facts: { strays, straysInAll: 2 } });
    for (const name of ['foreign0', 'nodevice0']) await daemons.vsctl('del-port', 'br-int', name);
    await waitUntil('they are gone', async () => (await driver.inspect()).strays.length === 0);
    const left = await driver.perform({ id: 't', kind: 'leave', args: { force: false } }, fence);
    expect(left.outcome).toBe('done');
  });
});
