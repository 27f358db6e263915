// Fixture F of the acceptance list.
import type { BackEndName } from '../../src/network/index.ts';
import type { ControlPlaneHarnessOptions } from './control-plane-fixture.ts';
import { AcceptanceWorld, type AcceptanceHostShape } from './world-fixture.ts';

/** A back end in the journal, and one outside of it. */
export const BOTH = ['embedded', 'simulated'] as const;

export interface FixtureF extends ControlPlaneHarnessOptions {
  readonly backEnd?: BackEndName;
  /** Overrides for some hosts. */
  readonly hosts?: Readonly<Record<string, AcceptanceHostShape>>;
  /** The pools of the two subnets, where they do not cover them. */
  readonly pool0?: readonly { readonly first: string; readonly last: string }[];
  readonly pool2?: readonly { readonly first: string; readonly last: string }[];
}

/**
 * Hosts h1..h5 with weights that fall, in strict order; a routed network `n`; segment seg0 reaches h2, h4 and h5, segment seg2
 * reaches h3 and h5, h1 is in none.
 */
export async function startFixtureF({
  backEnd = 'embedded',
  hosts = {},
  ...options
}: FixtureF = {}): Promise<AcceptanceWorld> {
  const world = await AcceptanceWorld.empty(options);
  await world.net('n', { backEnd });
  await world.segment('seg0', 'n');
  await world.segment('seg2', 'n');
  const { pool0, pool2 } = options;
  await world.subnet('sub0', 'n', '10.0.0.0/24', {
    segment: 'seg0',
    ...(pool0 !== undefined && { pools: [...pool0] }),
  });
  await world.subnet('sub2', 'n', '10.2.0.0/24', {
    segment: 'seg2',
    ...(pool2 !== undefined && { pools: [...pool2] }),
  });
  await world.hosts({
    h1: { memoryGiB: 500, ...hosts['h1'] },
    h2: { memoryGiB: 400, segments: ['seg0'], ...hosts['h2'] },
    h3: { memoryGiB: 300, segments: ['seg2'], ...hosts['h3'] },
    h4: { memoryGiB: 200, segments: ['seg0'], ...hosts['h4'] },
    h5: { memoryGiB: 100, segments: ['seg0', 'seg2'], ...hosts['h5'] },
  });
  return world;
}
