// Every sentence that operators are shown, with the facts of each case that produces it. A code that is added needs a case here; one
// that two modules have is told in the words of one of them, whichever case it is.
import { describe, expect, test } from 'vitest';
import { problemsOfSentence } from '../operations/reason-fixture.ts';
import { FAULTS } from '../instances/index.ts';
import { PROGRAM } from './modules.ts';

type Facts = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

const HOST = { host: 'c1' };
const WEB = { instance: 'web' };
const ON_C1 = { ...WEB, ...HOST };
const SERVICE = { service: 'nat:edge' };
const NODE = { node: 'n1' };
const ON_N1 = { ...WEB, ...NODE, epoch: 3 };
const MANAGER = { manager: 'm1' };
const PEER = { peer: 'c2', host: 'c1' };

/** Codes that carry their message with them. */
const MESSAGE = [
  { ...WEB, message: 'No host fits. 3 of 3 hosts: disabled.' },
  { ...WEB, message: 'no room' },
];

const CASES: Readonly<Record<string, readonly Facts[]>> = {
  ...Object.fromEntries(Object.keys(FAULTS).map((code) => [code, [...MESSAGE, WEB]])),
  'deadline-passed': [
    {},
    { waitedFor: 'agent-not-connected', ...HOST },
    { ...WEB, message: 'The build took longer than it may. Try it again.' },
  ],
  'items-failed': [
    { failed: 2, done: 1 },
    { failed: 1, done: 0, failedFor: 'instance-gone', ...WEB },
    { failed: 2, done: 0, failedFor: 'deadline-passed', waitedFor: 'agent-not-connected', ...HOST },
  ],
  'no-manager-alive': [{}, WEB],
  'node-connecting': [ON_N1],
  'node-deploying': [ON_N1],
  'node-disconnecting': [ON_N1],
  'node-cleaning': [ON_N1],
  'node-powering-on': [ON_N1],
  'node-powering-off': [ON_N1],
  'node-rebooting': [ON_N1],
  'node-unmanaged': [{ ...ON_N1, ...MANAGER }],
  'node-work-waits': [{ waitsFor: 'machine', count: 2, operation: 'op-7' }],
  'reservation-retried': [{ ...WEB, why: 'manager-draining', text: 'Manager "m1" drains.' }],
  'clean-retried': [{ ...ON_N1, tries: 1, text: 'the disk is stuck' }],
  'power-retried': [{ ...ON_N1, tries: 1, text: 'power-failed' }],
  'power-failed': [{ ...WEB, ...NODE, text: 'power-failed' }],
  'node-gone': [WEB],
  'node-clean-failed': [{ ...WEB, ...NODE, text: 'the disk is stuck' }],
  'no-match': MESSAGE,
  'deploy-failed': MESSAGE,
  'connect-failed': MESSAGE,
  'clean-failed': MESSAGE,
  'nodes-contended': [{ ...WEB, lost: 4 }],
  'reservation-failed': [{ ...WEB, because: 'No node is left.' }],
  'claim-given-back': [WEB],
  'allocations-missing': [
    { inventory: 'ironic', missing: 2, missingOf: 'n1 (web), n2 (db)' },
    { inventory: 'ironic', unknown: 1, unknownOf: 'n3 (gone)' },
    { inventory: 'ironic', missing: 1, missingOf: 'n1 (web)', unknown: 1, unknownOf: 'n3 (gone)' },
  ],
  'inventory-without-allocations': [{ inventory: 'ironic' }],
  'inventory-silent': [{ inventory: 'ironic' }],
  'inventory-not-configured': [{ inventory: 'ironic' }],
  'inventory-unreachable': [
    { inventory: 'simulated', node: 'n1' },
    { inventory: 'ironic', text: 'it is gone.' },
    { inventory: 'ironic', text: 'it did not answer in time', nodes: 120 },
  ],
  'inventory-refused': [{ inventory: 'ironic', node: 'n1', text: 'Forbidden.' }],
  'machine-busy': [NODE],
  'machine-unavailable': [NODE],
  'claimed-by-other': [NODE],
  'driver-silent': [{}],
  'internal-error': [{ detail: 'no driver "x"' }],
  'history-diverged': [
    { lostFrom: 7, lostTo: 9, head: 6, place: '7-9' },
    { lostTo: 9, head: 6, place: 'unknown-9' },
  ],
  'loss-accepted': [
    { revision: 6, lostTo: 9, place: '6' },
    { revision: 6, detail: 'a commit is missing', place: '6' },
  ],
  'store-damaged': [{ detail: 'page 3', place: 'quick-check' }],
  'no-admin-token': [{}],
  'clock-jumped': [{ detail: 'it went back 3 h', place: 'm1' }, { detail: 'it went back 3 h' }],
  'agent-not-joined': [HOST],
  'agent-not-connected': [HOST],
  'preflight-failed': [
    { ...HOST, problems: ['no ovs'] },
    { ...HOST, problems: [] },
  ],
  'host-gone': [HOST],
  'host-degraded': [
    { ...HOST, parts: ['switch'], conditions: ['its switch is out of control: no answer'] },
    {
      ...HOST,
      parts: ['switch'],
      conditions: ['its switch is out of control and forwards nothing: x'],
      cannotServe: true,
    },
    { ...HOST, parts: ['switch'], conditions: ['its switch is out of control: x'], isAnswering: true },
    { ...HOST, parts: ['switch'], conditions: ['its switch is out of control: x'], isUplinkMissing: true },
    { ...HOST, parts: ['instance-runtime'], conditions: ['its instance runtime fails: x'] },
  ],
  strays: [{ ...HOST, names: ['eth7'], count: 3 }],
  'manager-lost': [{ manager: 'm1' }, { manager: 'm1', host: 'c1' }],
  'nodes-to-take-over': [{ manager: 'm1', nodes: 3 }],
  'no-other-manager': [{ manager: 'm1', nodes: 3 }],
  'manager-drain-ended': [{ manager: 'm1' }],
  'manager-rebalance-ended': [{ manager: 'm1' }],
  'mass-silence': [{ site: 'north', silent: 3, hosts: 4 }],
  'tunnel-address-shared': [
    { ...HOST, address: '192.0.2.1', others: ['c2'], count: 1 },
    { ...HOST, address: '192.0.2.1', others: [], count: 2 },
  ],
  'agent-credential-shared': [HOST],
  'removed-host-reports': [
    { ...HOST, itself: true, as: [], count: 1 },
    { ...HOST, itself: false, as: ['c2'], count: 2 },
    { ...HOST, as: 'c2' },
  ],
  'unknown-host': [HOST],
  'still-joining': [HOST],
  'in-service': [HOST],
  'past-return': [HOST],
  'coming-back': [HOST],
  're-admit-first': [HOST],
  quarantined: [
    { ...HOST, because: 'operator-fenced' },
    { ...HOST, because: 'identity' },
  ],
  'lives-here': [{ ...HOST, kind: 'instance', tenant: 'web' }],
  'left-to-operator': [{ ...HOST, kind: 'instance', tenant: 'web' }],
  'more-live-here': [{ ...HOST, shown: 100 }],
  'not-drained': [HOST],
  'still-connected': [
    { ...HOST, connection: 'up' },
    { ...HOST, connection: 'suspect' },
  ],
  'host-down': [HOST],
  budget: [HOST],
  'moves-under-way': [HOST],
  'drains-under-way': [HOST],
  'handovers-under-way': [HOST],
  'handover-budget': [HOST],
  'host-works': [HOST, { ...HOST, kind: 'instance', target: 'web', operation: 'op-1' }],
  'not-begun': [{ ...HOST, message: 'No.' }],
  'not-left': [
    { ...HOST, problems: ['the switch does not answer'] },
    { ...HOST, problems: [] },
  ],
  'leave-unanswered': [HOST, { ...HOST, forced: true }],
  'leaver-silent': [HOST, { ...HOST, forced: true }],
  'leave-given-up': [{ ...HOST, connection: 'suspect', waitedMs: 300_000 }],
  'has-left': [HOST],
  'brought-back': [HOST],
  'agent-has-left': [HOST],
  'forced-down': [HOST],
  'peer-not-connected': [PEER, { peer: 'c1', host: 'c1' }],
  'peer-too-old': [PEER, { peer: 'c1', host: 'c1' }],
  'peer-out-of-control': [PEER, { peer: 'c1', host: 'c1' }],
  'hosts-behind': [{ hosts: ['c1', 'c2'], inAll: 5 }, { hosts: ['c1'] }],
  'hosts-coming-in': [{}],
  'more-to-spread': [{}],
  'cannot-rebalance': [{ because: 'elections-held', message: 'Elections are held still.' }],
  'elections-held': [SERVICE, { ...SERVICE, ...HOST }],
  'held-out-of-control': [{ ...SERVICE, ...HOST }],
  'no-candidate': [SERVICE, { ...SERVICE, ...HOST, because: 'not-connected' }],
  'service-not-ready': [
    { ...SERVICE, ...HOST, because: 'next hop 203.0.113.1 does not answer', servedBy: 'c2' },
    { ...SERVICE, ...HOST, because: 'next hop 203.0.113.1 does not answer' },
  ],
  'host-stays': [{ ...SERVICE, ...HOST }],
  'host-recovering': [{ ...SERVICE, ...HOST }],
  'target-bfd-down': [{ ...SERVICE, ...HOST, to: 'c2' }],
  'target-unfit': [{ ...SERVICE, ...HOST, because: 'no-way-out' }],
  'handover-drains': [{ ...SERVICE, ...HOST }],
  'connections-not-copied': [
    { ...SERVICE, uncopied: [] },
    { ...SERVICE, uncopied: ['c1'] },
  ],
  'handover-under-way': [{ ...SERVICE, to: 'c2' }],
  'held-while-bfd-up': [{ ...SERVICE, ...HOST }],
  'host-just-silent': [{ ...SERVICE, ...HOST }],
  'service-gone': [SERVICE],
  'elected-anew': [SERVICE, { ...SERVICE, ...HOST }],
  'service-withdrawn': [SERVICE],
  'network-unavailable': [{ backEnd: 'neutron' }, { backEnd: 'neutron', text: 'no route' }],
  'back-end-not-configured': [{ backEnd: 'neutron' }],
  'network-credentials-needed': [{ backEnds: ['neutron'] }],
  'network-credentials-missing': [{ backEnds: ['neutron'] }],
  'port-not-deleted': [
    { port: 'p1', answer: 'none' },
    { port: 'p1', answer: 'forbidden' },
  ],
  'port-bound': [{ port: 'p1', ...HOST }],
  'instance-gone': [WEB, {}],
  'instance-deleted': [WEB],
  'no-valid-host': MESSAGE,
  'attempts-exhausted': MESSAGE,
  'given-up': MESSAGE,
  'host-removed': MESSAGE,
  'too-few': MESSAGE,
  'source-lost': MESSAGE,
  'target-lost': MESSAGE,
  'instance-lost': MESSAGE,
  'ports-not-plugged': [WEB],
  'instance-degraded': [{ ...ON_C1, trouble: 'port p1 (NIC 0, network lan) is not bound to its host' }],
  'moved-and-degraded': [{ ...ON_C1, from: 'c2', trouble: 'port p1 (NIC 0, network lan) is not bound to its host' }],
  'not-connected': [
    { ...ON_C1, fault: 'superseded' },
    { ...ON_C1, fault: 'mapping-gone', message: 'The host does not reach the segment any more.' },
  ],
  'ports-bound-again': [ON_C1],
  'host-binds': [
    ON_C1,
    { ...ON_C1, because: 'driver' },
    { ...ON_C1, because: 'credentials' },
    { ...ON_C1, because: 'agents', needs: 3, below: 2 },
  ],
  'released-by-host': [{}],
  'back-end-unavailable': [WEB, { ...WEB, text: 'no route' }, { ...WEB, message: 'no route' }],
  'host-not-connected': [ON_C1, HOST],
  'only-copy': [ON_C1],
  'host-silent': [ON_C1],
  'host-forced-down': [ON_C1],
  'not-destroyed': [
    { ...ON_C1, problems: ['busy'] },
    { ...ON_C1, problems: [] },
    { ...WEB, problems: ['busy'] },
  ],
  'other-work-ends-first': [WEB],
  'others-without-ports': [WEB],
  'ports-not-released': [{ ...WEB, ports: ['p1'] }],
  'ports-not-unbound': [{ ...WEB, ports: ['p1'] }],
  'move-superseded': [WEB],
  'source-not-connected': [ON_C1],
  'target-not-connected': [ON_C1],
  'migration-outcome-unknown': [
    { ...ON_C1, from: 'c2' },
    { ...ON_C1, from: 'c2', removed: true },
  ],
  'not-migrated': [
    { ...ON_C1, problems: ['busy'] },
    { ...ON_C1, problems: [] },
  ],
  'not-activated': [
    { ...ON_C1, problems: ['busy'] },
    { ...ON_C1, problems: [] },
  ],
  'not-bound': [{ ...ON_C1, fault: 'unavailable' }],
  'target-not-bound': [{ ...ON_C1, from: 'c2', fault: 'unavailable' }],
  'not-bound-again': [{ ...ON_C1, fault: 'unavailable' }],
  'binding-left': [{ ...ON_C1, at: 'c2', fault: 'unavailable' }],
  'move-failed': [{ ...WEB, message: 'No host fits.' }],
  'rebuild-failed': [{ ...WEB, message: 'No host fits.' }],
  'held-together': [
    { ...ON_C1, group: 'db', others: 2 },
    { ...ON_C1, group: 'db', others: 1 },
  ],
  'group-limit': [{ ...WEB, group: 'db', limit: 1 }],
  'instance-in-error': [WEB],
  'ambiguous-host': [{ host: 'cc', hosts: ['c2', 'c3'] }],
  'switch-identity-shared': [{ ...HOST, other: 'c2' }, HOST],
  'keys-differ': [{}],
  'secret-key-missing': [{ key: '0123456789abcdef' }],
  'secret-damaged': [{ kind: 'cluster', id: 'edge' }],
  'pods-leaving': [{ worker: 'edge.a', left: 3, terminating: 1 }],
  'budget-blocks': [
    { worker: 'edge.a', left: 3, pod: 'default/web-0', budget: 'web' },
    { worker: 'edge.a', left: 3, pod: 'default/web-0', others: 2 },
  ],
  'drain-blocked': [
    { worker: 'edge.a', pod: 'default/web-0', why: 'bare' },
    { worker: 'edge.a', pod: 'default/web-0', why: 'two-budgets', budget: 'web, web-2', others: 1 },
    { worker: 'edge.a', pod: 'default/web-0', why: 'local-volume' },
    { worker: 'edge.a', pod: 'default/web-0', why: 'empty-dir' },
  ],
  'other-worker-failed': [{ worker: 'edge.a', other: 'edge.b' }],
  'others-to-cordon': [{ worker: 'edge.a' }],
  'others-to-check': [{ worker: 'edge.a' }],
  'others-to-drain': [{ worker: 'edge.a' }],
  'node-uncordoned': [{ worker: 'edge.a', node: 'a' }],
  'node-replaced': [{ worker: 'edge.a' }],
  'volumes-attached': [{ worker: 'edge.a', attached: 2 }],
  'instance-deleting': [{ worker: 'edge.a', instance: 'a' }],
  'instance-not-deleted': [{ worker: 'edge.a', instance: 'a', text: 'It is being moved.' }],
  'worker-superseded': [{ worker: 'edge.a' }],
  'instance-comes-back': [{ worker: 'edge.a', instance: 'a' }],
  'token-not-sealed': [{ worker: 'edge.a', text: 'This server has no key that seals secrets.' }],
  'worker-not-joined': [{ worker: 'edge.a', cluster: 'edge', node: 'a' }],
  'worker-leaves-first': [{ worker: 'edge.a', instance: 'a' }],
  'worker-in-hand': [{ worker: 'edge.a', operation: 'op-1' }],
  'drains-at-once': [{ worker: 'edge.a', cluster: 'edge', atOnce: 1, other: 'edge.b' }],
  'worker-turn-later': [{ worker: 'edge.a' }],
  'worker-stays': [{ worker: 'edge.a' }],
  'scale-in-ended': [{ worker: 'edge.a' }],
  'worker-host-lost': [{ worker: 'edge.a' }],
  'cluster-unreachable': [{ cluster: 'edge' }, { cluster: 'edge', text: 'connection refused' }],
  'cluster-silent': [{ cluster: 'edge', text: 'connection refused' }],
  'cluster-refused': [
    { cluster: 'edge', node: 'a' },
    { cluster: 'edge', node: 'a', text: 'nodes is forbidden' },
  ],
  'unknown-cluster': [{ cluster: 'edge' }],
  'instance-building': [{ worker: 'edge.a', instance: 'a', state: 'building' }],
  'failed-instance-deleting': [{ worker: 'edge.a', instance: 'a' }],
  'instance-refused': [{ worker: 'edge.a', why: 'no-valid-host', text: 'No host has room.' }],
  'instance-not-running': [
    { worker: 'edge.a', instance: 'a', state: 'shelved' },
    { worker: 'edge.a', instance: 'a', state: 'error', why: 'no-valid-host', text: 'No host has room.' },
  ],
  'worker-instance-gone': [{ worker: 'edge.a', instance: 'a' }],
  'joins-at-once': [{ worker: 'edge.a', max: 10 }],
  'token-awaited': [{ worker: 'edge.a' }],
  'machine-address-unknown': [{ worker: 'edge.a', instance: 'a' }],
  'machine-unreachable': [{ worker: 'edge.a', text: 'connect ECONNREFUSED 10.0.0.5:22' }],
  'machine-refuses-login': [{ worker: 'edge.a', text: 'All configured authentication methods failed' }],
  'wrong-host-key': [{ worker: 'edge.a', expected: 'SHA256:abc', found: 'SHA256:def' }],
  'script-failed': [
    { worker: 'edge.a', exitCode: 1, text: 'E: Unable to fetch some archives' },
    { worker: 'edge.a', exitCode: 1, text: '' },
  ],
  'script-cut-off': [{ worker: 'edge.a', text: 'the connection was closed' }],
  'node-awaited': ['missing', 'not-ready', 'unknown'].map((readiness) => ({
    ...{ worker: 'edge.a', cluster: 'edge', node: 'a', readiness },
  })),
  'join-timed-out': [
    { worker: 'edge.a' },
    { worker: 'edge.a', waitedFor: 'node-awaited', cluster: 'edge', node: 'a', readiness: 'missing' },
    { worker: 'edge.a', waitedFor: 'machine-unreachable', text: 'connect ECONNREFUSED 10.0.0.5:22' },
  ],
  'other-node': ['', 'aws:///i-1'].map((found) => ({
    ...{ worker: 'edge.a', cluster: 'edge', node: 'a', expected: 'muster:///edge/a', found },
  })),
};

const CODES = PROGRAM.sentences.flatMap((module) => Object.keys(module));

test('every-code-has-its-cases-here', () => {
  expect(CODES.filter((code) => !Object.hasOwn(CASES, code))).toEqual([]);
  expect(Object.keys(CASES).filter((code) => !CODES.includes(code))).toEqual([]);
});

test.each(Object.entries(CASES).flatMap(([code, all]) => all.map((facts) => ({ code, ...facts }))))(
  'sentence-without-a-gap: %j',
  (reason) => {
    expect(problemsOfSentence(PROGRAM.sentences, reason)).toEqual([]);
  },
);

describe('each-sentence-is-true-of-its-case', () => {
  test.each<[string, Facts, string]>([
    ['host-works', HOST, 'The agent of host c1 has work that is not done yet.'],
    [
      'host-works',
      { ...HOST, kind: 'service', target: 'nat:edge', operation: 'op-1' },
      'The agent of host c1 has work of operation op-1 for service nat:edge that is not done yet. "muster operations show op-1" says what.',
    ],
    [
      'source-not-connected',
      ON_C1,
      'Host c1, which is to migrate instance web, is not connected. If it is off, say so with "muster hosts force-down c1 --reason <why>".',
    ],
    [
      'migration-outcome-unknown',
      { ...ON_C1, from: 'c2' },
      'Host c2 was forced down while it migrated instance web. Host c1, which may have received it, is not connected; its task waits until it is. If it is off too, say so with "muster hosts force-down c1 --reason <why>".',
    ],
    [
      'migration-outcome-unknown',
      { ...ON_C1, from: 'c2', removed: true },
      'Host c2 was removed while it migrated instance web. Host c1, which may have received it, is not connected; its task waits until it is. If it is off too, say so with "muster hosts force-down c1 --reason <why>".',
    ],
    [
      'source-lost',
      { ...WEB, message: 'Host c1 was removed before it had migrated the instance.' },
      'Host c1 was removed before it had migrated the instance.',
    ],
  ])('%s %j', (code, facts, sentence) => {
    expect(PROGRAM.explain({ ...facts, code })).toBe(sentence);
  });
});

describe('each-case-in-its-own-words', () => {
  test.each<[string, Facts, string]>([
    ['quarantined', { ...HOST, because: 'identity' }, 'its switch has the identity of another host'],
    ['quarantined', { ...HOST, because: 'operator-fenced' }, 'what ran there was rebuilt elsewhere'],
    ['leave-unanswered', { ...HOST, forced: true }, 'It is removed by force'],
    ['leave-unanswered', HOST, '--force --reason'],
    ['host-degraded', CASES['host-degraded']?.[0] as Facts, 'services that it has stay while its peers see its BFD up'],
    ['host-degraded', CASES['host-degraded']?.[1] as Facts, 'services that it has move to other hosts'],
    ['host-degraded', CASES['host-degraded']?.[2] as Facts, 'muster dataplane diff'],
    ['hosts-behind', { hosts: ['c1', 'c2'], inAll: 5 }, 'c1, c2 and 3 more'],
    ['target-not-bound', { ...ON_C1, from: 'c2', fault: 'unavailable' }, 'the instance runs on host c2 as before'],
    [
      'addresses-exhausted',
      { message: 'the back end answered 409 X' },
      'There is no free address on the network: the back',
    ],
  ])('%s %j', (code, facts, words) => {
    expect(PROGRAM.explain({ ...facts, code })).toContain(words);
  });
});
