import { describe, expect, test } from 'vitest';
import { finish } from '../../fleet/index.ts';
import { compile } from '../compile/compile.ts';
import {
  explainFlows,
  explainGaps,
  explainGroups,
  matchesFilter,
  NEXT_HOPS_BY_NAME,
  type FlowFilter,
} from './explain.ts';
import { nat, subnetService, view } from '../compile/dataplane-view-fixture.ts';
import type { ServiceView } from '../view/dataplane-view.ts';

const DESIGNATED: Partial<ServiceView> = {
  role: 'designated',
  designated: { host: 'c1' },
  floating: [{ outside: '198.51.100.20', inside: '10.0.0.11' }],
};
const services = (facts: Partial<ServiceView> = {}): ServiceView[] => [
  nat(facts),
  subnetService('subnet-route', facts),
  subnetService('dhcp', facts),
];
const compiled = compile(view({ services: services(DESIGNATED) }), NEXT_HOPS_BY_NAME);
const flows = explainFlows(compiled);
const found = (filter: FlowFilter): number => flows.filter((flow) => matchesFilter(flow, filter)).length;

describe('what was compiled, explained', () => {
  test('every-flow-has-an-owner-a-reason-and-a-sentence', () => {
    expect(flows).toHaveLength(compiled.contents.flows.length);
    for (const { sentence, owner, tableName } of flows) {
      expect(sentence).toMatch(/^[A-Z].*\.$/);
      expect(owner.id).not.toBe('');
      expect(tableName).toMatch(/^[a-z]+$/);
    }
  });

  test('next-hops-that-only-the-host-knows-are-named-by-address', () => {
    const leaving = flows.find(({ reason }) => reason === 'nat-egress');
    expect(leaving).toMatchObject({ table: 35, tableName: 'snat', owner: { kind: 'service', id: 'nat:edge' } });
    expect(leaving?.actions).toContain('set_field:next-hop(198.51.100.1)->eth_dst');
  });

  test.each<readonly [string, FlowFilter, FlowFilter]>([
    ['a-table-by-number-is-the-table-by-name', { table: '15' }, { table: 'route' }],
    ['an-owner-without-its-kind-is-that-owner', { owner: 'service/nat:edge' }, { owner: 'nat:edge' }],
    ['text-in-any-case', { text: 'FLOATING address' }, { text: 'floating ADDRESS' }],
  ])('%s', (_name, one, other) => {
    expect(found(one)).toBeGreaterThan(0);
    expect(found(one)).toBeLessThan(flows.length);
    expect(found(one)).toBe(found(other));
  });

  test('filters-narrow-each-other', () => {
    expect(found({ owner: 'nat:edge', table: 'snat' })).toBe(1);
    expect(found({ owner: 'nat:edge', table: 'snat', text: 'nobody says this' })).toBe(0);
    expect(found({ owner: 'nat' })).toBe(0);
  });

  test('a-group-belongs-to-whoever-sends-to-it', () => {
    const others = compile(view({ services: services() }));
    const all = explainFlows(others);
    const ownersOf = (those: typeof all): string[] =>
      finish(explainGroups(others, those)).map(({ owner }) => `${owner.kind}/${owner.id}`);
    expect(ownersOf(all.filter((flow) => matchesFilter(flow, { owner: 'nat:edge' })))).toEqual(['service/nat:edge']);
    expect(ownersOf(all).sort()).toEqual([
      'domain/network/blue',
      'domain/network/red',
      'service/dhcp:blue-v4',
      'service/nat:edge',
      'service/subnet-route:blue-v6',
    ]);
  });

  test('what-cannot-be-had-is-a-sentence', () => {
    const gaps = explainGaps(compile(view({ services: [nat({ designated: { host: 'c9' } })] })));
    expect(gaps.map(({ sentence }) => sentence)).toEqual([
      'service nat:edge: It needs a tunnel to c9, and there is none.',
    ]);
  });
});
