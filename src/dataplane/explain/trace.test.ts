import { describe, expect, test } from 'vitest';
import { compile, EMPTY_COMPILE_RESULT } from '../compile/compile.ts';
import { nat, view } from '../compile/dataplane-view-fixture.ts';
import { annotateTrace } from './trace.ts';

const compiled = compile(view({ services: [nat({ role: 'designated', designated: { host: 'c1' } })] }));

/** As Open vSwitch 3.1 prints it. */
const TRACE = `Flow: icmp,in_port=11,vlan_tci=0x0000,dl_src=fa:16:3e:00:00:01,nw_dst=8.8.8.8

bridge("br-int")
----------------
 0. in_port=11,dl_src=fa:16:3e:00:00:01, priority 100, cookie 0x4d554637762c15af
    set_field:0x1000->metadata
    resubmit(,10)
15. ip,reg0=0x2000, priority 10, cookie 0x4d55ec841d636ab3
    dec_ttl
    resubmit(,30)
35. ct_state=-inv+trk,ip,reg0=0x2000, priority 10, cookie 0x4d55edc657fbed87
    output:2
40. priority 0, cookie 0x4d55b51624590408
    drop
20. No match.
 0. priority 0, cookie 0x7
 0. ip,nw_dst=9.9.9.9, priority 99, cookie 0x4d55ec841d636ab3
 0. ip, priority 98, cookie 0x4d55ffffffffffff

Final flow: unchanged
Datapath actions: drop
`;

describe('a trace', () => {
  test('tells-whose-each-flow-is-and-why-and-leaves-the-rest-as-it-is', () => {
    const lines = annotateTrace(TRACE, compiled);
    expect(lines.map(({ text }) => text).join('\n')).toBe(TRACE.trimEnd());
    const annotated = lines.filter(({ tableName }) => tableName !== undefined);
    expect(
      annotated.map(({ tableName, owner, sentence }) => `${tableName}: ${owner?.kind} ${owner?.id}: ${sentence}`),
    ).toEqual([
      'classify: port port-1: Assigns what this port sends to its network, only from its own hardware address.',
      'route: router edge: Sends packets for addresses outside the subnets of the router to its way out.',
      'snat: service nat:edge: Sends out translated packets.',
      'unsnat: host c1: Drops packets that no other flow matches.',
      'classify: router edge: undefined',
      'classify: undefined undefined: undefined',
    ]);
  });

  test('of-a-host-that-left-names-tables-only', () => {
    const annotated = annotateTrace(TRACE, EMPTY_COMPILE_RESULT).filter(({ tableName }) => tableName !== undefined);
    expect(annotated).toHaveLength(6);
    expect(annotated.every(({ owner }) => owner === undefined)).toBe(true);
  });
});
