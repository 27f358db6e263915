// Hosts in service, each with a switch of its own and an agent that keeps it, under a virtual clock.
import { onTestFinished } from 'vitest';
import { SimulatedSwitch } from '../../../dataplane/runtime.ts';
import { idOf, put } from '../../../fleet/index.ts';
import { accept } from '../../../journal/index.ts';
import { TRANSPORT_ZONE } from '../../../network/index.ts';
import type { OperationKind } from '../../../operations/index.ts';
import { TestHost, type TestHostOptions } from '../agent-fixture.ts';
import { TestControlPlane } from '../../server/control-plane-fixture.ts';
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';

export interface SwitchHost {
  readonly testHost: TestHost;
  readonly simulatedSwitch: SimulatedSwitch;
  /** The join token that its agent is given. */
  token: string | undefined;
}

export interface SwitchWorld {
  readonly clock: VirtualClock;
  readonly plane: TestControlPlane;
  readonly hosts: readonly SwitchHost[];
}

export interface SwitchWorldOptions {
  /** Operations that the server knows besides its own. */
  readonly kinds?: readonly OperationKind[];
  readonly switch?: Partial<ConstructorParameters<typeof SimulatedSwitch>[0]>;
  /** What the first host has besides. */
  readonly node?: TestHostOptions['machine'];
}

/** Hosts in service, with tunnels between all of them. */
export async function startSwitchWorld(
  names: readonly string[],
  options: SwitchWorldOptions = {},
): Promise<SwitchWorld> {
  const clock = new VirtualClock();
  const plane = new TestControlPlane(clock, 'journal-1', options.kinds);
  await plane.start('s1');
  await clock.until('there is a lease holder', () => plane.hasLeader);
  const zone = { name: 'default', mesh: 'full' as const, changedBy: 'test', changedAtMs: 0 };
  await plane.commit(() => accept([put(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'default'), zone)], null));
  await plane.register(...names);
  const hosts: SwitchHost[] = [];
  for (const [nth, name] of names.entries()) {
    await plane.edit(name, { tunnelAddress: `172.16.0.${nth + 1}` });
    const simulatedSwitch = new SimulatedSwitch({ host: name, clock, ...options.switch });
    const host: SwitchHost = {
      simulatedSwitch,
      token: await plane.joinToken(name),
      testHost: new TestHost(plane, {
        name,
        joinToken: () => Promise.resolve(host.token),
        machine: { ...(nth === 0 && options.node), switch: simulatedSwitch },
      }),
    };
    hosts.push(host);
    host.testHost.start();
  }
  const world = { clock, plane, hosts };
  onTestFinished(async () => {
    await Promise.all(hosts.map(({ testHost }) => testHost.stop()));
    await plane.close();
  });
  await clock.until('all are in service', () => names.every((name) => plane.host(name)?.state === 'active'));
  await untilConverged(world);
  return world;
}

export async function untilConverged({ clock, hosts }: SwitchWorld): Promise<void> {
  await clock.until('all have converged', () =>
    hosts.every(({ testHost }) => {
      const status = testHost.agent?.status();
      return status?.digest !== undefined && status.applied === status.digest;
    }),
  );
  await clock.pass(300);
}

export const peersOn = ({ simulatedSwitch }: SwitchHost): string[] =>
  simulatedSwitch.contents.tunnels.map(({ peer }) => peer);
export const EMPTY_CONTENTS = { flows: [], groups: [], tunnels: [], externalIds: {} };
