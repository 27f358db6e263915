import { describe, expect, it } from 'vitest';
import { findMutant, SEARCH_LIMIT_MS, searchReport } from './find-mutant.ts';
import { KUBERNETES_MUTANTS } from './mutants.ts';

describe('a planted bug is found by the fixed seeds with Kubernetes', { timeout: SEARCH_LIMIT_MS }, () => {
  it.each(KUBERNETES_MUTANTS.map((mutant) => [mutant.name, mutant] as const))('%s', async (_name, mutant) => {
    const found = await findMutant(mutant);
    expect(found, `no seed finds it: ${mutant.bug}`).toBeDefined();
    expect(mutant.caughtBy).toContain(found?.violation?.property);
    if (found !== undefined) console.log(searchReport(mutant, found));
  });
});
