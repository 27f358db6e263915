// A fleet in which everything of one site carries a marker, and everything of the other has been in touch with it: moved there, tried
// there, waited for it, served by it. Whoever is bound to the other site must find the marker nowhere.
import { ALARM, alarmId } from '../../src/alarms/index.ts';
import { MANAGER, RESERVATION, type Reservation } from '../../src/baremetal/index.ts';
import { SERVICE } from '../../src/election/index.ts';
import { idOf, put, type Change } from '../../src/fleet/index.ts';
import { PENDING_CLEAN_UP } from '../../src/hosts/scale-in/pending-clean-up.ts';
import { INSTANCE, type Instance } from '../../src/instances/index.ts';
import { CLUSTER, DRAIN_REPORT, MACHINE_LOG, WORKER } from '../../src/kubernetes/index.ts';
import { CLAIM, claimId, PORT, TUNNEL_KEY } from '../../src/network/index.ts';
import { ITEM, newOperation, OPERATION } from '../../src/operations/index.ts';
import { SITE } from '../../src/sites/index.ts';
import { hostChange, type ApiTestServer } from '../api/api-test-server.ts';
import { nodeChange } from '../api/sample-nodes.ts';

/** In every name of the hidden site; its addresses have numbers that nothing else has. */
export const MARKER = 'zq9';
export const HIDDEN_SITE = `${MARKER}-site`;
const HOSTS = [`${MARKER}-host-1`, `${MARKER}-host-2`] as const;
const [FAR, GONE] = HOSTS;
const FAR_VM = `${MARKER}-vm`;
const COMING = `${MARKER}-coming`;
const FAR_PORT = `port-${MARKER}`;
export const FAR_IP = '10.0.0.177';
export const TRACES: readonly string[] = [MARKER, '192.0.2.177', 'fa:16:3e:00:01:77', FAR_IP, '0xa0000b1', 'c0ffee'];

const CHANGED = { changedBy: 'test', changedAtMs: 1 };
const AMOUNTS = { vcpus: 1, memoryMiB: 64, diskGiB: 1 };
const MENTION = `It was tried on host ${FAR}, next to instance ${FAR_VM} and port ${FAR_PORT} of site ${HIDDEN_SITE}.`;
const REASON = { code: 'not-bound', instance: 'vm-1', host: FAR, fault: 'unavailable', message: MENTION, peers: [FAR] };

export async function plantMarkers(world: ApiTestServer): Promise<void> {
  const vm = world.journal.fleet.get(INSTANCE, idOf(INSTANCE, 'vm-1'))?.doc;
  const nat = world.journal.fleet.get(SERVICE, idOf(SERVICE, 'nat:edge'));
  const port = world.journal.fleet.get(PORT, idOf(PORT, 'port-1'))?.doc;
  if (vm === undefined || nat?.doc.why === undefined || port?.binding === undefined)
    throw new Error('the fixture is not whole');
  await world.commit(
    put(SITE, idOf(SITE, HIDDEN_SITE), { name: HIDDEN_SITE, ...CHANGED }),
    ...farHosts(),
    hostChange('central-0', {
      serviceVersion: 6,
      tunnelAddress: '192.0.2.1',
      switch: { datapathId: '00000000000000c0' },
    }),
    hostChange('central-1', { serviceVersion: 6, tunnelAddress: '192.0.2.2', ...leaving() }),
    hostChange('central-2', {
      quarantined: { because: 'identity', as: FAR, atMs: 1 },
      state: 'active',
      tunnelAddress: '192.0.2.3',
    }),
    put(TUNNEL_KEY, idOf(TUNNEL_KEY, '70001'), { for: 'segment', id: 'rack' }),
    put(TUNNEL_KEY, idOf(TUNNEL_KEY, '70002'), { for: 'router', id: 'edge' }),
    put(PORT, idOf(PORT, FAR_PORT), {
      ...port,
      mac: 'fa:16:3e:00:01:77',
      instance: FAR_VM,
      addresses: [{ ip: FAR_IP, subnet: 'rack-v4', chosenBy: 'bind' }],
      binding: { ...port.binding, host: FAR },
    }),
    put(SERVICE, nat.id, {
      ...nat.doc,
      standby: FAR,
      why: { ...nat.doc.why, rejected: [{ host: FAR, because: 'bfd-down' }], rejectedInAll: 1 },
    }),
    ...farInstances(vm),
    ...nearInstances(vm),
    ...work(),
    ...nodes(),
    ...clusters(),
    put(ALARM, alarmId('near', 'central'), { severity: 'warning', site: 'central', reason: REASON, sinceMs: 1 }),
    put(ALARM, alarmId('far', FAR), { severity: 'critical', site: HIDDEN_SITE, reason: REASON, sinceMs: 1 }),
    put(PENDING_CLEAN_UP, idOf(PENDING_CLEAN_UP, `central-1.${GONE}`), { peer: 'central-1', host: GONE, sinceMs: 1 }),
  );
  // What was committed for the hidden site, and has brought something to the other one.
  await world.journal.submit({
    by: 'operation:instance-move',
    why: `scale-in of host ${FAR}`,
    operation: `drain-5.${FAR}.instance-moves`,
    decide: () => ({ kind: 'accept', changes: [near('vm-arrived', vm)], answer: undefined }),
  });
  await world.journal.submit({
    by: 'admin',
    why: `make room for ${FAR_VM} of ${HIDDEN_SITE}`,
    decide: () => ({ kind: 'accept', changes: [near('vm-arrived', vm, { changedAtMs: 2 })], answer: undefined }),
  });
}

function farHosts(): Change[] {
  const place = {
    site: HIDDEN_SITE,
    zone: `${MARKER}-zone`,
    aggregates: [`${MARKER}-aggregate`],
    traits: [`${MARKER}-trait`],
  };
  const facts = { serviceVersion: 6, physicalNetworks: [`${MARKER}-physical`] };
  return [
    hostChange(FAR, { ...place, ...facts, tunnelAddress: '192.0.2.177', switch: { datapathId: '0000000000c0ffee' } }),
    hostChange(GONE, { ...place, ...facts, state: 'removed', connection: { state: 'down', sinceMs: 1 } }),
  ];
}

function leaving(): object {
  const why = `because ${FAR} has room`;
  return { state: 'draining', leaving: { operation: 'op-drain', drain: true, by: 'admin', why, atMs: 1 } };
}

function claim(instance: string, role: 'home' | 'move', host: string): Change {
  return put(CLAIM, claimId(instance, role), { instance, role, host, ...AMOUNTS, addresses: [], sinceMs: 1 });
}

function farInstances(vm: Instance): Change[] {
  const { host: _, place: __, ...rest } = vm;
  const far = { ...rest, host: FAR, place: { site: HIDDEN_SITE } };
  return [
    put(INSTANCE, idOf(INSTANCE, FAR_VM), { ...far, name: FAR_VM, nics: [{ port: FAR_PORT, network: 'lan' }] }),
    claim(FAR_VM, 'home', FAR),
    // On its way to the other site, and not there yet.
    put(INSTANCE, idOf(INSTANCE, COMING), {
      ...far,
      name: COMING,
      place: {},
      nics: [],
      state: 'moving',
      move: { operation: 'op-far', kind: 'live', from: FAR, tries: [tried('central-1', 'central')] },
    }),
    claim(COMING, 'home', FAR),
    claim(COMING, 'move', 'central-1'),
  ];
}

const tried = (host: string, site: string) => ({ nth: 1, host, site, pools: ['segment:rack'], atMs: 1 });
const failed = (host: string, site: string) => ({ ...tried(host, site), fault: 'spawn-failed', text: MENTION });

function near(name: string, vm: Instance, more: Partial<Instance> = {}): Change {
  return put(INSTANCE, idOf(INSTANCE, name), { ...vm, name, nics: [], ...more });
}

function nearInstances(vm: Instance): Change[] {
  const report = {
    hosts: 7,
    stages: [{ filter: 'site', before: 7, after: 3, cause: 'wrong-site', facts: { site: 'central' } }],
  };
  return [
    near('vm-leaving', vm, {
      state: 'moving',
      attempts: [failed(FAR, HIDDEN_SITE)],
      move: {
        operation: 'op-move',
        kind: 'live',
        from: 'central-0',
        origin: FAR,
        target: FAR,
        tries: [tried(FAR, HIDDEN_SITE)],
      },
    }),
    claim('vm-leaving', 'home', 'central-0'),
    claim('vm-leaving', 'move', FAR),
    near('vm-failed', vm, {
      state: 'active',
      place: {},
      move: {
        operation: `drain-5.${FAR}.instance-moves`,
        kind: 'live',
        from: 'central-0',
        tries: [failed(FAR, HIDDEN_SITE)],
      },
      fault: { code: 'no-valid-host', message: MENTION, atMs: 1, report },
    }),
    claim('vm-failed', 'home', 'central-0'),
  ];
}

/** Those of one site, and one of the other that is acted on from there. */
function nodes(): Change[] {
  const used = { state: 'active', epoch: 3, dirty: true, managerEpoch: 1, manager: `${MARKER}-manager` } as const;
  const maintenance = { reason: MENTION, by: 'admin', atMs: 1 };
  const fault = { code: 'clean-failed', message: MENTION, atMs: 1 };
  return [
    put(MANAGER, idOf(MANAGER, `${MARKER}-manager`), {
      ...{ name: `${MARKER}-manager`, version: '1', site: HIDDEN_SITE, state: 'live', holder: 'p-1', leaseEpoch: 1 },
      ...{ sinceMs: 1, ...CHANGED },
    }),
    nodeChange(`${MARKER}-node`, { site: HIDDEN_SITE, resourceClass: `${MARKER}-class`, ...used, instance: FAR_VM }),
    nodeChange('node-near', { site: 'central', ...used, instance: 'vm-1', maintenance, fault }),
    reservation(`${MARKER}-reserved`, { site: HIDDEN_SITE, node: `${MARKER}-node` }),
    reservation('reserved-near', { site: 'central', node: 'node-near' }),
    reservation('failed-near', {
      ...{ site: 'central', state: 'error', failedAtMs: 10 ** 13, reason: { code: 'no-match', message: MENTION } },
      stages: [{ stage: 'candidates', left: 0 }],
    }),
  ];
}

/** By a caller of the whole fleet, who named what it sees. */
function reservation(instance: string, facts: Partial<Reservation>): Change {
  const manager = `${MARKER}-manager`;
  return put(RESERVATION, idOf(RESERVATION, instance), {
    ...{ instance, manager, state: 'active', digest: '', ignored: [], createdAtMs: 1, ...CHANGED },
    request: { instance_uuid: instance, manager, candidate_nodes: [`${MARKER}-node`, 'node-near'] },
    ...facts,
  });
}

/** Those of one site, and a worker of the other whose instance has gone there. */
function clusters(): Change[] {
  const cluster = { kind: 'simulated', reach: 'none', whenHostLeaves: 'drain', drainsAtOnce: 1 } as const;
  const drainPolicy = { deadlineMs: 300_000, evictBare: false, keepEmptyDir: false };
  const known = { state: 'reachable', sinceMs: 1, ...CHANGED } as const;
  const ready = {
    state: 'draining',
    stateSinceMs: 1,
    readiness: 'ready',
    readinessSinceMs: 1,
    createdAtMs: 1,
  } as const;
  const cordon = { atMs: 1, wasUnschedulable: false, wasExcluded: false, isConfirmed: true };
  const far = `${MARKER}-cluster`;
  const operation = `drain-5.${FAR}.workers`;
  const log = { text: `joined ${MARKER}`, isCut: false, exitCode: 0, atMs: 1 };
  const report = { left: 1, terminating: 0, moreBlockers: 0, atMs: 1 };
  const blocker = { namespace: 'default', pod: `${MARKER}-pod`, reason: 'budget', budget: 'web' } as const;
  return [
    put(CLUSTER, idOf(CLUSTER, far), { ...{ name: far, site: HIDDEN_SITE, ...cluster, drainPolicy, ...known } }),
    put(WORKER, idOf(WORKER, `${far}.worker-1`), {
      ...{ cluster: far, node: 'worker-1', instance: FAR_VM, ...ready, cordon: { operation, ...cordon }, ...CHANGED },
    }),
    put(DRAIN_REPORT, idOf(DRAIN_REPORT, `${far}.worker-1`), {
      ...{ cluster: far, operation, ...report, blockers: [{ node: 'worker-1', ...blocker }] },
    }),
    put(MACHINE_LOG, idOf(MACHINE_LOG, `${far}.worker-1`), { cluster: far, operation, ...log }),
    put(ALARM, alarmId('cluster-silent', far), {
      ...{ severity: 'warning', site: HIDDEN_SITE, reason: { code: 'cluster-silent', cluster: far }, sinceMs: 1 },
    }),
    put(WORKER, idOf(WORKER, 'edge.worker-far'), {
      ...{ cluster: 'edge', node: 'worker-far', instance: FAR_VM, ...ready, ...CHANGED },
      ...{ cordon: { operation, ...cordon }, work: { operation } },
    }),
    put(DRAIN_REPORT, idOf(DRAIN_REPORT, 'edge.worker-far'), { cluster: 'edge', operation, ...report, blockers: [] }),
    put(MACHINE_LOG, idOf(MACHINE_LOG, 'edge.worker-far'), { cluster: 'edge', operation, ...log, text: 'joined' }),
  ];
}

function work(): Change[] {
  const request = { by: 'admin', nowMs: 1, deadlineMs: 10 ** 12 };
  const item = (operation: string, key: string, target: { kind: string; id: string }) => ({
    ...put(ITEM, idOf(ITEM, `${operation}.${key}`), {
      operation,
      target,
      host: FAR,
      step: 'move',
      state: 'waiting' as const,
      reason: REASON,
      attempt: 1,
      sinceMs: 1,
    }),
  });
  return [
    ...newOperation({
      ...{ id: idOf(OPERATION, 'op-move'), kind: 'instance-move', title: `move to ${FAR}`, site: 'central', items: [] },
      ...{ ...request, why: `scale-in of host ${FAR}` },
    }),
    item('op-move', 'vm-leaving', { kind: 'instance', id: 'vm-leaving' }),
    ...newOperation({
      ...{
        id: idOf(OPERATION, 'op-drain'),
        kind: 'scale-in',
        title: 'scale in host central-1',
        site: 'central',
        items: [],
      },
      ...request,
    }),
    item('op-drain', 'central-1', { kind: 'host', id: 'central-1' }),
    ...newOperation({
      ...{ id: idOf(OPERATION, 'op-far'), kind: 'instance-move', title: FAR, site: HIDDEN_SITE, items: [] },
      ...request,
    }),
    item('op-far', COMING, { kind: 'instance', id: COMING }),
    put(OPERATION, idOf(OPERATION, 'op-failed'), {
      ...{
        kind: 'instance-move',
        title: `live move of instance ${FAR_VM}`,
        state: 'failed',
        by: 'admin',
        site: 'central',
      },
      ...{ createdAtMs: 1, deadlineMs: 1, deadlineAtMs: 2, finishedAtMs: 2 },
      reason: { ...REASON, code: 'items-failed', failed: 1, failedFor: REASON.code },
    }),
  ];
}
