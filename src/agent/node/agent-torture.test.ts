// The agent crashes at each of its port calls, before and after the call's effect, starts again from its disk, and the
// end is always the same.
import { describe, expect, test } from 'vitest';
import { TestHost } from './agent-fixture.ts';
import { CrashingPorts, type Crash } from './crashing-ports-fixture.ts';
import { TestControlPlane } from '../server/control-plane-fixture.ts';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';

interface End {
  readonly host: unknown;
  readonly credentials: number;
  readonly parts: unknown;
  readonly hasConverged: boolean;
  readonly unwelcome: unknown;
  readonly violations: readonly string[];
}

interface Run {
  readonly end: End;
  readonly calls: readonly string[];
  readonly performed: readonly string[];
}

/** Joins, does its preflight on the second try, becomes active, and follows one change of its view. */
async function run(crash?: Crash): Promise<Run> {
  const clock = new VirtualClock();
  const plane = new TestControlPlane(clock);
  await plane.start('s1');
  await clock.until('there is a lease holder', () => plane.hasLeader);
  await plane.register('c1');
  const joinToken = await plane.joinToken('c1');
  let looks = 0;
  const preflight = (): readonly string[] => ((looks += 1) === 1 ? ['no bridge'] : []);
  const rack = new TestHost(plane, {
    joinToken: () => Promise.resolve(joinToken),
    machine: { preflight, delayMs: 50 },
  });
  const ports = new CrashingPorts(crash);
  rack.start(ports.wrap({ link: rack.link, disk: rack.disk, driver: rack.driver, clock }));
  let restarted = false;
  const alive = (): boolean => {
    if (!ports.hasCrashed || restarted) return true;
    restarted = true;
    rack.start();
    return true;
  };
  await clock.until('c1 is active', () => alive() && plane.host('c1')?.state === 'active');
  await plane.edit('c1', { zone: 'other' });
  await clock.until('it follows', () => alive() && hasConverged(rack) && zoneOf(rack) === 'other');
  const calmUntilMs = clock.nowMs() + 30_000;
  await clock.until('a while passed', () => alive() && clock.nowMs() >= calmUntilMs);
  await clock.until('it is connected', () => alive() && plane.host('c1')?.connection.state === 'up');
  await clock.until(
    'the server knows',
    () => alive() && plane.leader.gateway.reports.get('c1')?.applied === rack.agent?.status().digest,
  );
  const end = endOf(plane, rack);
  const calls = [...ports.calls];
  await rack.stop();
  await plane.close();
  return { end, calls, performed: rack.driver.performed };
}

function hasConverged({ agent }: TestHost): boolean {
  const { applied, digest } = agent!.status();
  return digest !== undefined && applied === digest;
}

function zoneOf({ driver }: TestHost): unknown {
  return (driver.view?.parts['self'] as { readonly zone?: unknown } | undefined)?.zone;
}

function endOf(plane: TestControlPlane, rack: TestHost): End {
  const { state, zone, serviceVersion, connection } = plane.host('c1')!;
  const good = plane.tokens('c1').filter(({ doc }) => doc.role === 'agent' && doc.revoked === undefined);
  return {
    host: {
      state,
      zone,
      serviceVersion,
      connection: connection.state,
      bound: plane.host('c1')?.credential === good[0]?.id,
    },
    credentials: good.length,
    parts: rack.driver.view?.parts,
    hasConverged: hasConverged(rack),
    unwelcome: rack.agent!.status().refusal,
    violations: plane.violations,
  };
}

/** Tasks that were begun and whose answers were not on disk when it crashed: only these are begun again. */
function unwritten({ calls }: Run, effect: Crash['effect']): number {
  const count = (name: string): number => calls.filter((call) => call === name).length;
  const cut = effect === 'before' && calls.at(-1) === 'disk.write answers' ? 1 : 0;
  return count('driver.perform') - (count('disk.write answers') - cut);
}

describe('an agent that crashes', () => {
  test('at-each-port-call-ends-in-the-same-state', { timeout: 60_000 }, async () => {
    const calm = await run();
    expect(calm.end).toMatchObject({ credentials: 1, hasConverged: true, unwelcome: undefined, violations: [] });
    expect(calm.performed).toHaveLength(2);
    expect(calm.calls.length).toBeGreaterThan(30);
    for (let at = 1; at <= calm.calls.length; at += 1) {
      for (const effect of ['before', 'after'] as const) {
        const crashed = await run({ at, effect });
        const where = `crash ${effect} call ${at}, ${crashed.calls.at(-1)}`;
        expect({ where, ...crashed.end }).toEqual({ where, ...calm.end });
        const twice = crashed.performed.length - new Set(crashed.performed).size;
        expect({ where, twice: twice <= unwritten(crashed, effect) }).toEqual({ where, twice: true });
      }
    }
  });
});
