// What the modules declare to need is all that they need, and a server that lacks one of it does not start.
import { expect, test } from 'vitest';
import { Runtime, type Provider } from '../composition/index.ts';
import { Journal } from '../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../journal/runtime.ts';
import { VirtualClock } from '../journal/virtual-clock-fixture.ts';
import { coreProviders } from './core-providers.ts';
import { IDLE_CORE } from './core-providers-fixture.ts';
import { realIds } from './ids.ts';
import { PROGRAM } from './modules.ts';

const PROVIDERS = coreProviders(IDLE_CORE);
const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined };

function runtimeWith(providers: readonly Provider[]): Runtime {
  const [clock, ids] = [new VirtualClock(), realIds()];
  const store = new MemoryStore(new MemoryDisk({ journalId: 'j', nowMs: () => clock.nowMs() }));
  const journal = new Journal({ store, registry: PROGRAM.newRegistry(), clock, ids });
  return new Runtime(PROGRAM, { journal, clock, ids, log: LOG }, providers);
}

test('a-server-is-whole-with-what-its-modules-declare', () => {
  const runtime = runtimeWith(PROVIDERS);
  expect(runtime.controllers().length).toBeGreaterThan(10);
  expect([...runtime.drivers().keys()].sort()).toEqual([
    'kubernetes-joins',
    'kubernetes-new-tokens',
    'kubernetes-nodes',
    'network',
    'node-claims',
    'views',
  ]);
  expect(runtime.routes().length).toBeGreaterThan(100);
});

test.each([
  ['lease-identity', 'operations'],
  ['own-keys', 'keys'],
  ['back-end-credentials', 'network'],
  ['trusted-time', 'journal'],
  ['gateway-options', 'agent'],
])('a-server-without-%s-does-not-start', (key, module) => {
  const others = PROVIDERS.filter((provider) => provider.key !== key);
  expect(others).toHaveLength(PROVIDERS.length - 1);
  expect(() => runtimeWith(others)).toThrow(`nothing provides ${key}, which module ${module} needs`);
});
