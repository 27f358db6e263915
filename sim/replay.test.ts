import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { CORE, INSTANCES, SCALE_IN, type Scenario } from './scenarios.ts';
import { runSeed, type SeedResult } from './seed.ts';

const run = promisify(execFile);
const SEEDS = [1, 2, 17, 44, 4711];

const played = new Map<string, Promise<SeedResult>>();

/** What all replays of a seed are compared with; played once. */
function firstRun(seed: number, scenario: Scenario = CORE): Promise<SeedResult> {
  const key = `${scenario.name} ${seed}`;
  const result = played.get(key) ?? runSeed({ seed, scenario });
  played.set(key, result);
  return result;
}

describe('the same seed', () => {
  it.each(SEEDS)('%i gives the same trace again', async (seed) => {
    const first = await firstRun(seed);
    const second = await runSeed({ seed });
    expect(second.hash).toBe(first.hash);
    expect(second.steps).toBe(first.steps);
  });

  it.each(SEEDS)('%i with instances gives the same trace again', async (seed) => {
    const first = await firstRun(seed, INSTANCES);
    const second = await runSeed({ seed, scenario: INSTANCES });
    expect(second.hash).toBe(first.hash);
  });

  it.each([2, 17, 44])('%i of hosts that come and go gives the same trace again', async (seed) => {
    const first = await firstRun(seed, SCALE_IN);
    const second = await runSeed({ seed, scenario: SCALE_IN });
    expect(second.hash).toBe(first.hash);
  });

  it('with instances gives the same trace in another process', async () => {
    const { hash } = await firstRun(2, INSTANCES);
    const { stdout } = await run(process.execPath, ['sim/run.ts', '--world', 'instances', '--seed', '2']);
    expect(stdout).toContain(`trace ${hash}`);
  });

  it('gives the same trace in another process, printed or not', async () => {
    const [seed] = SEEDS;
    const { hash } = await firstRun(seed!);
    const { stdout } = await run(process.execPath, ['sim/run.ts', '--seed', String(seed)]);
    expect(stdout).toContain(`trace ${hash}`);
    const traced = await run(process.execPath, ['sim/run.ts', '--seed', String(seed), '--trace'], {
      maxBuffer: 100 * 2 ** 20,
    });
    expect(traced.stdout).toContain(`trace ${hash}`);
    expect(traced.stdout.split('\n').length).toBeGreaterThan(2000);
  });

  it('of different worlds the traces differ', async () => {
    const hashes = new Set<string>();
    for (const seed of [1, 2, 3]) hashes.add((await firstRun(seed)).hash);
    expect(hashes.size).toBe(3);
  });
});

describe('the command', () => {
  it('ends with 2 and prints its usage when no seeds are given', async () => {
    await expect(run(process.execPath, ['sim/run.ts', '--seeds', '9-3'])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('usage: npm run sim') as string,
    });
    await expect(run(process.execPath, ['sim/run.ts', '--world', 'moon', '--seed', '1'])).rejects.toMatchObject({
      code: 2,
    });
    await expect(run(process.execPath, ['sim/run.ts', '--sed', '1'])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^Unknown option '--sed'[^]*usage: npm run sim/) as string,
    });
    const { stdout } = await run(process.execPath, ['sim/run.ts', '--help']);
    expect(stdout).toContain('usage: npm run sim');
  });

  it('sums up many seeds', async () => {
    const { stdout } = await run(process.execPath, ['sim/run.ts', '--seeds', '1-2']);
    expect(stdout).toContain('2 seeds, 0 failed');
    expect(stdout).toContain('mark lease-taken');
  });
});
