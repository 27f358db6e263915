import { describe, expect, test } from 'vitest';
import { compile, EMPTY_COMPILE_RESULT } from './compile.ts';
import { flowsOf, nat, subnetService, view } from './dataplane-view-fixture.ts';

describe('zones of connection tracking', () => {
  test('a service that translates has the zone that its flows name', () => {
    const compiled = compile(view({ services: [nat({ role: 'designated', designated: { host: 'c1' } })] }));
    const zone = compiled.zones.get('nat:edge');
    expect(flowsOf(compiled, 'nat:edge').join('\n')).toContain(`zone=${zone},nat(src=`);
  });

  test('it has it whatever this host has to do with it, and the others have none', () => {
    const services = [nat({ role: 'other' }), subnetService('dhcp', {})];
    expect([...compile(view({ services })).zones.keys()]).toEqual(['nat:edge']);
    expect(EMPTY_COMPILE_RESULT.zones.size).toBe(0);
  });
});
