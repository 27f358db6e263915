import { expect, test } from 'vitest';
import { compile } from './compile.ts';
import { C2, nat, subnetService, view } from './dataplane-fixture.ts';
import type { DataplaneView, ShownService } from './shown.ts';

type Phase = NonNullable<ShownService['handOver']>['phase'];

function during(phase: Phase, role: ShownService['role']): DataplaneView {
  const facts = { role, handOver: { phase, operation: 'op', other: 'c2', tunnelAddress: C2.tunnelAddress } };
  return view({ services: [nat(facts), subnetService('subnet-route', facts), subnetService('dhcp', facts)] });
}

test.each<readonly [Phase, Phase, ShownService['role']]>([
  ['seeding', 'preparing', 'designated'],
  ['seeding', 'preparing', 'preparing'],
  ['reseeding', 'retiring', 'designated'],
  ['reseeding', 'retiring', 'retiring'],
])('%s is compiled as %s: %s', (phase, like, role) => {
  expect(compile(during(phase, role))).toEqual(compile(during(like, role)));
});
