// Disturbs a build at every possible point: after each of its commits, and around each order to a back end.
import { expect } from 'vitest';
import { HOST } from '../../src/hosts/index.ts';
import { INSTANCE } from '../../src/instances/index.ts';
import { CLAIM, PORT } from '../../src/network/index.ts';
import { ITEM, isOpen } from '../../src/operations/index.ts';
import { startFixtureF, type FixtureF } from './reference-fixture.ts';
import type { AcceptanceWorld } from './world-fixture.ts';

export type DisturbancePoint = 'after a commit' | 'before an order' | 'after an order';

/** There are no orders where the journal is the back end. */
export function pointsOf({ fixture }: BuildVariant): readonly DisturbancePoint[] {
  return fixture.backEnd === 'simulated' ? ['after a commit', 'before an order', 'after an order'] : ['after a commit'];
}

/** A path of a build. */
export interface BuildVariant {
  readonly name: string;
  readonly fixture: FixtureF;
  /** The faults of each build. */
  readonly faults?: readonly Parameters<AcceptanceWorld['arm']>[0][];
  readonly ends: 'active' | 'error';
}

function versions(version: number): FixtureF['hosts'] {
  return Object.fromEntries(['h1', 'h2', 'h3', 'h4', 'h5'].map((name) => [name, { version }]));
}

const simulated = { backEnd: 'simulated' } as const;
const spawnFails = { op: 'spawn', outcome: 'spawn-failed' } as const;

export const BUILD_VARIANTS: readonly BuildVariant[] = [
  { name: 'embedded', fixture: {}, ends: 'active' },
  { name: 'embedded, with a host that fails', fixture: {}, faults: [spawnFails], ends: 'active' },
  { name: 'embedded on the old path', fixture: { hosts: versions(1) ?? {} }, ends: 'active' },
  { name: 'host-local', fixture: { backEnd: 'host-local' }, ends: 'active' },
  { name: 'simulated', fixture: simulated, ends: 'active' },
  { name: 'simulated, with a host that fails', fixture: simulated, faults: [spawnFails], ends: 'active' },
  {
    name: 'simulated, with a bind that fails and an answer that is lost',
    fixture: simulated,
    faults: [
      { op: 'create', outcome: 'applied-but-lost' },
      { op: 'bind', outcome: 'binding-failed' },
      { op: 'unbind', outcome: 'unavailable' },
      { op: 'bind', outcome: 'applied-but-lost' },
    ],
    ends: 'active',
  },
  { name: 'simulated, failed', fixture: simulated, faults: [{ ...spawnFails, times: 3 }], ends: 'error' },
  { name: 'simulated, hosts that bind', fixture: { ...simulated, hosts: versions(2) ?? {} }, ends: 'active' },
  {
    name: 'simulated on the old path, with a host that fails',
    fixture: { ...simulated, hosts: versions(1) ?? {} },
    faults: [spawnFails],
    ends: 'active',
  },
  {
    name: 'simulated, where the driver binds',
    fixture: { ...simulated, hosts: { h2: { bindsAt: 'driver', segments: ['seg0'] } } },
    ends: 'active',
  },
];

export interface DisturbedBuild {
  readonly world: AcceptanceWorld;
  readonly name: string;
  /** False for the last one, whose build was over before its point came. */
  readonly isDisturbed: boolean;
}

export interface Disturbance {
  readonly point: DisturbancePoint;
  readonly disturb: (world: AcceptanceWorld, name: string) => void;
  readonly verify: (built: DisturbedBuild) => Promise<void>;
  /** What is disturbed of an existing instance; its build by default. */
  readonly work?: DisturbedWork;
}

export interface DisturbedWork {
  readonly name: string;
  /** The steps before, undisturbed. */
  readonly prepare?: (world: AcceptanceWorld, name: string) => Promise<void>;
  readonly begin: (world: AcceptanceWorld, name: string) => Promise<void>;
}

/** Builds one instance after the other, each disturbed one point later, until one is not disturbed. Returns how many were. */
export async function disturbAtEachPoint(
  way: BuildVariant,
  { point, disturb, verify, work }: Disturbance,
): Promise<number> {
  const world = await startFixtureF(way.fixture);
  for (let nth = 1; ; nth += 1) {
    const name = `web${nth}`;
    await world.userPort(`${name}-user`, 'n');
    world.network.faults.disarm();
    for (const fault of way.faults ?? []) world.arm(fault);
    const wanted = { name, networks: [{ network: 'n' }, { port: `${name}-user` }] };
    if (work !== undefined) await world.boot(wanted);
    await work?.prepare?.(world, name);
    const { stop, struck } = countdown(world, point, nth, () => disturb(world, name));
    await (work === undefined ? world.create(wanted) : work.begin(world, name));
    await world.settle();
    stop();
    await verify({ world, name, isDisturbed: struck() });
    if (!struck()) return nth - 1;
  }
}

function countdown(world: AcceptanceWorld, point: DisturbancePoint, nth: number, strike: () => void) {
  let left = nth;
  const count = (): void => {
    left -= 1;
    if (left === 0) strike();
  };
  const stop =
    point === 'after a commit'
      ? world.onCommit(count)
      : world.onOrder((when) => {
          if (point.startsWith(when)) count();
        });
  return { stop, struck: () => left <= 0 };
}

/** Nothing of an instance is left but the user's port, as it was before. */
export function expectNothingLeft(world: AcceptanceWorld, name: string): void {
  expect(world.all(INSTANCE).map(({ id }) => id)).not.toContain(name);
  expect(world.all(CLAIM).filter(({ doc }) => doc.instance === name)).toEqual([]);
  expect(world.all(ITEM).filter(({ doc }) => isOpen(doc))).toEqual([]);
  const ports = world.all(PORT).filter(({ id, doc }) => id.startsWith(`${name}-`) || doc.instance === name);
  expect(ports.map(({ id }) => id)).toEqual([`${name}-user`]);
  const user = world.port(`${name}-user`);
  expect(user).not.toHaveProperty('instance');
  expect(user).not.toHaveProperty('binding');
  const hosts = world.all(HOST).flatMap(({ id }) => (world.runs(id).includes(name) ? [id] : []));
  expect(hosts).toEqual([]);
  expect(world.network.port(`${name}-p0`)).toBeUndefined();
  const there = world.network.port(`${name}-user`);
  expect(there?.instance).toBeUndefined();
  expect(there?.binding).toBeUndefined();
  // The journal and the back end agree on its addresses.
  if (there !== undefined) expect(there.addresses.map(({ ip }) => ip)).toEqual(user.addresses.map(({ ip }) => ip));
}
