// Suites that need Kubernetes. Where there is none they say so by name; in CI that is a failure, not a silence.
import { describe, expect, inject, test } from 'vitest';
import type { ReadyKubernetes } from './global-setup.ts';

export function kubernetesSuite(name: string, suite: (kubernetes: ReadyKubernetes) => void): void {
  const found = inject('kubernetes');
  if (found.kind === 'ready') {
    describe(name, () => {
      suite(found);
    });
    return;
  }
  const title = `${name}: needs Kubernetes, ${found.reason}`;
  if (process.env['CI'] === 'true') {
    test(title, () => {
      expect.fail(`Kubernetes is missing: ${found.reason}`);
    });
  } else {
    test.skip(title);
  }
}
