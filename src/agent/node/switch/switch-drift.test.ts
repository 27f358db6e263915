// A switch that is changed by others while its view stays the same: the agent finds it, puts it right and says how it stands.
import { describe, expect, test } from 'vitest';
import type { SwitchChange } from '../../../dataplane/index.ts';
import {
  EMPTY_CONTENTS,
  untilConverged,
  peersOn,
  startSwitchWorld,
  type SwitchHost,
  type SwitchWorld,
} from './switch-world-fixture.ts';

/** A little more than the agent lets pass between two looks. */
const SOON_MS = 34_000;

const THEIRS = {
  table: 0,
  priority: 1,
  match: 'dl_dst=02:00:00:00:00:01',
  actions: 'drop',
  cookie: '0000000000000001',
};

interface DriftWorld extends SwitchWorld {
  readonly c1: SwitchHost;
}

/** Host c1 with its flows and its tunnel, converged. */
async function startDriftWorld(options: Parameters<typeof startSwitchWorld>[1] = {}): Promise<DriftWorld> {
  const world = await startSwitchWorld(['c1', 'c2'], options);
  const [c1] = world.hosts as [SwitchHost];
  await world.clock.until('it has its tunnel', () => peersOn(c1).length === 1);
  await untilConverged(world);
  return { ...world, c1 };
}

const statusOf = ({ testHost }: SwitchHost) => testHost.agent!.status();
const hasReportedConvergence = ({ plane }: DriftWorld): boolean => {
  const { gateway, journal } = plane.leader;
  return gateway.hasConverged('c1', journal.fleet.revision);
};

describe('a switch whose view stays the same', () => {
  test('is-put-right-when-it-forgot-everything', async () => {
    const world = await startDriftWorld();
    const { clock, c1 } = world;
    const wanted = c1.simulatedSwitch.contents;
    c1.simulatedSwitch.reset();
    expect(c1.simulatedSwitch.contents).toEqual(EMPTY_CONTENTS);
    await clock.until('it is put right', () => c1.simulatedSwitch.contents.flows.length > 0, SOON_MS);
    expect(c1.simulatedSwitch.contents).toEqual(wanted);
    await clock.until('it is said', () => hasReportedConvergence(world), 6000);
    expect(statusOf(c1).problems).toEqual([]);
  });

  test.each<[string, (flow: typeof THEIRS) => SwitchChange]>([
    ['changed', (flow) => ({ kind: 'put-flow', flow: { ...flow, actions: 'drop' } })],
    ['removed', (flow) => ({ kind: 'remove-flow', flow })],
    ['added', (flow) => ({ kind: 'put-flow', flow: { ...flow, priority: 12_345 } })],
  ])('a-flow-of-ours-that-was-%s-is-put-right-and-those-of-others-are-left', async (_how, meddle) => {
    const { clock, c1 } = await startDriftWorld();
    const wanted = c1.simulatedSwitch.contents;
    const flow = wanted.flows.find(({ actions }) => actions !== 'drop')!;
    c1.simulatedSwitch.applyForeign([meddle(flow), { kind: 'put-flow', flow: THEIRS }]);
    const { changes } = c1.simulatedSwitch;
    expect(c1.simulatedSwitch.contents.flows).not.toEqual(wanted.flows);
    await clock.pass(SOON_MS);
    const ours = c1.simulatedSwitch.contents.flows.filter(({ cookie }) => cookie !== THEIRS.cookie);
    expect(ours).toEqual(wanted.flows);
    expect(c1.simulatedSwitch.contents.flows).toContainEqual(THEIRS);
    // What was right was not touched.
    expect(c1.simulatedSwitch.changes).toBe(changes + 1);
  });

  test('is-read-now-and-then-and-never-changed-while-it-is-right', async () => {
    const { clock, c1 } = await startDriftWorld();
    const { changes } = c1.simulatedSwitch;
    const { applies } = c1.testHost.driver;
    const reads = (): number => c1.simulatedSwitch.calls.filter((call) => call === 'read').length;
    const before = reads();
    await clock.pass(600_000);
    expect(reads() - before).toBeGreaterThanOrEqual(17);
    expect(reads() - before).toBeLessThanOrEqual(23);
    expect([c1.simulatedSwitch.changes, c1.testHost.driver.applies]).toEqual([changes, applies]);
  });

  test.each<[string, (host: SwitchHost) => void, (host: SwitchHost) => void, string]>([
    [
      'does-not-answer',
      ({ simulatedSwitch }) => void (simulatedSwitch.faults.down = true),
      ({ simulatedSwitch }) => void (simulatedSwitch.faults.down = false),
      'switch-down',
    ],
    [
      'forgets-and-takes-nothing',
      ({ simulatedSwitch }) => {
        simulatedSwitch.reset();
        simulatedSwitch.faults.losesFlows = 100_000;
      },
      ({ simulatedSwitch }) => void (simulatedSwitch.faults.losesFlows = 0),
      'differences are left',
    ],
  ])('that-%s-makes-its-host-say-so-until-it-is-right-again', async (_name, breaks, mends, problem) => {
    const world = await startDriftWorld();
    const { clock, plane, c1 } = world;
    const wanted = c1.simulatedSwitch.contents;
    breaks(c1);
    await clock.until('it says so', () => statusOf(c1).problems.join().includes(problem), SOON_MS);
    expect(statusOf(c1).applied).toBeUndefined();
    await clock.until('the server knows', () => !hasReportedConvergence(world), 6000);
    await clock.until(
      'and why',
      () => plane.leader.gateway.reports.get('c1')?.report?.problems.join().includes(problem) === true,
      12_000,
    );
    mends(c1);
    await clock.until('it has converged', () => hasReportedConvergence(world), 30_000);
    expect(c1.simulatedSwitch.contents).toEqual(wanted);
    await clock.pass(6000);
    expect(plane.leader.gateway.reports.get('c1')?.report?.problems).toEqual([]);
  });

  test('a-flow-of-another-program-that-gets-in-the-way-is-reported-and-left', async () => {
    const world = await startDriftWorld();
    const { clock, c1 } = world;
    const [flow] = c1.simulatedSwitch.contents.flows;
    c1.simulatedSwitch.applyForeign([{ kind: 'put-flow', flow: { ...flow!, cookie: THEIRS.cookie } }]);
    await clock.until('it says so', () => statusOf(c1).problems.join().includes('in the way'), SOON_MS);
    expect(c1.simulatedSwitch.contents.flows).toContainEqual({ ...flow, cookie: THEIRS.cookie });
    await clock.until('the server knows', () => !hasReportedConvergence(world), 6000);
    c1.simulatedSwitch.applyForeign([{ kind: 'remove-flow', flow: { ...flow!, cookie: THEIRS.cookie } }]);
    await clock.until('it has converged', () => hasReportedConvergence(world), SOON_MS);
  });

  test('is-kept-empty-of-ours-and-of-nothing-else-when-its-host-is-not-trusted', async () => {
    const { clock, plane, c1 } = await startDriftWorld();
    await plane.edit('c1', { quarantined: { because: 'operator-fenced', atMs: 1 } });
    await clock.until('it is wiped', () => c1.simulatedSwitch.contents.flows.length === 0);
    c1.simulatedSwitch.applyForeign([{ kind: 'put-flow', flow: THEIRS }]);
    await clock.pass(SOON_MS);
    expect(c1.simulatedSwitch.contents.flows).toEqual([THEIRS]);
  });
});

describe('a switch that notices what is done to it', () => {
  test('is-put-right-at-once', async () => {
    const { clock, c1 } = await startDriftWorld({ switch: { notifies: true } });
    const wanted = c1.simulatedSwitch.contents;
    await clock.pass(5000);
    c1.simulatedSwitch.reset();
    await clock.settle();
    expect(c1.simulatedSwitch.contents).toEqual(wanted);
  });

  test('counts-as-converged-until-drift-is-found-and-is-not-read-all-the-time', async () => {
    const world = await startDriftWorld({ switch: { notifies: true } });
    const { clock, c1 } = world;
    await clock.pass(5000);
    const { applied } = statusOf(c1);
    const { changes } = c1.simulatedSwitch;
    c1.simulatedSwitch.calls.length = 0;
    for (let nth = 0; nth < 100; nth += 1) {
      // Others' flows come and go: none of our business, and noticed each time.
      c1.simulatedSwitch.applyForeign([{ kind: nth % 2 === 0 ? 'put-flow' : 'remove-flow', flow: THEIRS }]);
      await clock.pass(100);
      expect(statusOf(c1).applied).toBe(applied);
    }
    expect(c1.simulatedSwitch.calls.filter((call) => call === 'read').length).toBeLessThanOrEqual(51);
    expect(c1.simulatedSwitch.changes).toBe(changes);
    expect(hasReportedConvergence(world)).toBe(true);
  });
});
