// Where the documents of each kind belong: a caller of one site or one project is shown a document by this, in reads, watches and history.
import { describe, expect, test } from 'vitest';
import { Fleet, idOf, put, Registry, type Change } from '../fleet/index.ts';
import { PROGRAM } from './modules.ts';

const KINDS = PROGRAM.models.flatMap(({ kinds }) => kinds);

/** What scopes look up. No more of a document than they read. */
const FLEET = fleetOf(
  doc('cluster', 'edge', { site: 'north', project: 'blue' }),
  doc('host', 'c1', { site: 'north' }),
  doc('host', 'c2', { site: 'south' }),
  doc('network', 'lan', { project: 'blue', shared: false }),
  doc('network', 'dmz', { project: 'admin', shared: true }),
  doc('instance', 'web', { project: 'blue', host: 'c1', place: {} }),
  doc('manager', 'm1', { site: 'north' }),
  doc('node', 'n1', { site: 'north', owner: 'blue' }),
  doc('operation', 'op', { site: 'north', project: 'blue' }),
  doc('port', 'p1', { project: 'blue', binding: { host: 'c1' } }),
  doc('port', 'p2', { project: 'blue' }),
);

type Row = readonly [
  kind: string,
  doc: object,
  site: string | undefined,
  project: string | true | readonly string[] | undefined,
];

const ROWS: readonly Row[] = [
  ['alarm', { site: 'north' }, 'north', undefined],
  ['alarm', {}, undefined, undefined],
  ['build-failures', { host: 'c1' }, 'north', undefined],
  ['build-failures', { host: 'gone' }, undefined, undefined],
  ['claim', { instance: 'web', role: 'home', host: 'c1' }, 'north', 'blue'],
  ['claim', { instance: 'web', role: 'move', host: 'c2' }, 'south', 'blue'],
  ['claim', { instance: 'gone', role: 'home', host: 'gone' }, undefined, undefined],
  ['cluster', { site: 'north', project: 'blue' }, 'north', 'blue'],
  ['control-plane-keys', {}, undefined, undefined],
  ['drain-report', { cluster: 'edge' }, 'north', 'blue'],
  ['drain-report', { cluster: 'gone' }, undefined, undefined],
  ['worker-join', { cluster: 'edge' }, 'north', 'blue'],
  ['machine-log', { cluster: 'edge' }, 'north', 'blue'],
  ['worker-script', { cluster: 'edge' }, 'north', 'blue'],
  ['flavor', {}, undefined, true],
  ['floating-address', { project: 'blue' }, undefined, 'blue'],
  ['group', { project: 'blue' }, undefined, 'blue'],
  ['host', { site: 'north' }, 'north', undefined],
  ['idempotency', {}, undefined, undefined],
  ['instance', { project: 'blue', host: 'c1', place: { site: 'south' } }, 'north', 'blue'],
  ['instance', { project: 'blue', place: { site: 'south' } }, 'south', 'blue'],
  ['item', { operation: 'op' }, 'north', 'blue'],
  ['manager', { site: 'north' }, 'north', undefined],
  ['inventory', { name: 'ironic' }, undefined, undefined],
  ['network', { project: 'blue', shared: false }, undefined, 'blue'],
  ['network', { project: 'blue', shared: true }, undefined, true],
  ['network-event', { port: 'p1' }, 'north', 'blue'],
  ['network-event', { port: 'p2' }, undefined, 'blue'],
  ['network-event', { port: 'gone' }, undefined, undefined],
  ['node', { site: 'north', owner: 'blue', lessee: 'red' }, 'north', ['blue', 'red']],
  ['node', {}, undefined, []],
  ['operation', { site: 'north', project: 'blue' }, 'north', 'blue'],
  ['pending-clean-up', { peer: 'c1', host: 'c2' }, 'north', undefined],
  ['port', { project: 'blue', binding: { host: 'c1' } }, 'north', 'blue'],
  ['port', { project: 'blue' }, undefined, 'blue'],
  ['quota', { project: 'blue' }, undefined, 'blue'],
  ['reservation', { node: 'n1', site: 'south', manager: 'm1', project: 'blue' }, 'north', 'blue'],
  ['reservation', { site: 'south', manager: 'm1' }, 'south', undefined],
  ['reservation', { manager: 'm1' }, 'north', undefined],
  ['reservation', { manager: 'gone' }, undefined, undefined],
  ['router', { project: 'blue' }, undefined, 'blue'],
  ['segment', { network: 'lan' }, undefined, undefined],
  ['service', {}, undefined, undefined],
  ['setting', {}, undefined, undefined],
  ['simulated-call', {}, undefined, undefined],
  ['simulated-cluster-node', {}, undefined, undefined],
  ['simulated-fault', {}, undefined, undefined],
  ['simulated-join-token', {}, undefined, undefined],
  ['simulated-machine', {}, undefined, undefined],
  ['simulated-pod', {}, undefined, undefined],
  ['simulated-workload', {}, undefined, undefined],
  ['site', { name: 'north' }, 'north', undefined],
  ['subnet', { network: 'lan' }, undefined, 'blue'],
  ['subnet', { network: 'dmz' }, undefined, true],
  ['token', { site: 'north' }, undefined, undefined],
  ['transport-zone', {}, undefined, undefined],
  ['tunnel-key', { for: 'network', id: 'lan' }, undefined, undefined],
  ['worker', { cluster: 'edge' }, 'north', 'blue'],
  ['worker', { cluster: 'gone' }, undefined, undefined],
];

describe('each-kind-belongs-to-a-site-and-a-project', () => {
  test.each(ROWS)('%s %j', (name, facts, site, project) => {
    const { siteOf, projectOf } = PROGRAM.scopeOf(kindOf(name));
    expect({
      site: siteOf(facts, FLEET),
      project: projectOf(facts, FLEET),
    }).toEqual({ site, project });
  });

  test('every-kind-has-a-row', () => {
    const rows = new Set(ROWS.map(([kind]) => kind));
    expect(KINDS.map(({ name }) => name).filter((name) => !rows.has(name))).toEqual([]);
  });
});

function fleetOf(...changes: readonly Change[]): Fleet {
  const fleet = new Fleet(new Registry([{ kinds: KINDS }]));
  fleet.apply(1, changes);
  return fleet;
}

function doc(kind: string, id: string, facts: object): Change {
  return put(kindOf(kind), idOf(kindOf(kind), id), facts);
}

function kindOf(name: string): { readonly name: string; readonly check: () => undefined } {
  const kind = KINDS.find((one) => one.name === name);
  if (kind === undefined) throw new Error(`no kind ${name}`);
  return { name, check: () => undefined };
}
