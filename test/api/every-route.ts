// Every route with a body that it accepts, and a fleet in which each of them finds what it names. For suites that call all
// routes: a new route gets a row here.
import type { InjectOptions } from 'fastify';
import { expect } from 'vitest';
import { tokenIdIn, type Route } from '../../src/access/index.ts';
import { ALARM, alarmId } from '../../src/alarms/index.ts';
import { idOf, put } from '../../src/fleet/index.ts';
import { newOperation, OPERATION } from '../../src/operations/index.ts';
import { SAMPLE_CLUSTERS, sampleClusters } from './sample-clusters.ts';
import { SAMPLE_NETWORK, sampleNetwork } from './sample-network.ts';
import { SAMPLE_NODES, sampleNodes } from './sample-nodes.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';
import {
  AGENT,
  forProjects,
  JOIN,
  MANAGER,
  NONE_OF_THESE,
  OPERATE,
  OPERATE_FLEET,
  PUBLIC,
  RULE_FLEET,
  SEE_FLEET,
  SEE_LIST,
  SEE_SITE,
  type CallerName,
} from './who-may-call.ts';

interface Row {
  readonly who: string;
  readonly body?: object;
}

export const TABLE: Readonly<Record<string, Row>> = {
  'GET /livez': { who: PUBLIC },
  'GET /readyz': { who: PUBLIC },
  'GET /api/v1/openapi.json': { who: PUBLIC },
  'GET /metrics': { who: SEE_FLEET },
  'GET /api/v1/whoami': { who: forProjects(SEE_LIST, '+ + +') },
  'GET /api/v1/watch': { who: forProjects(SEE_LIST, '+ + +') },
  'GET /api/v1/history': { who: forProjects(SEE_LIST, '+ + +') },
  'GET /api/v1/audit': { who: RULE_FLEET },
  'GET /api/v1/sealing-keys': { who: RULE_FLEET },
  'POST /api/v1/sealing-keys/reseal': { who: RULE_FLEET },
  'GET /api/v1/settings': { who: SEE_FLEET },
  'GET /api/v1/settings/:name': { who: SEE_FLEET },
  'PUT /api/v1/settings/:name': { who: RULE_FLEET, body: { value: 5 } },
  'DELETE /api/v1/settings/:name': { who: RULE_FLEET },
  'GET /api/v1/tokens': { who: RULE_FLEET },
  'GET /api/v1/tokens/:id': { who: RULE_FLEET },
  'POST /api/v1/tokens': { who: RULE_FLEET, body: { name: 'new', role: 'viewer' } },
  'DELETE /api/v1/tokens/:id': { who: RULE_FLEET },
  'GET /api/v1/sites': { who: SEE_LIST },
  'GET /api/v1/sites/:id': { who: SEE_SITE },
  'POST /api/v1/sites': { who: RULE_FLEET, body: { name: 'new' } },
  'PATCH /api/v1/sites/:id': { who: RULE_FLEET, body: { description: 'x' } },
  'DELETE /api/v1/sites/:id': { who: RULE_FLEET },
  'GET /api/v1/hosts': { who: SEE_LIST },
  'GET /api/v1/hosts/:id': { who: SEE_SITE },
  // Joining names a site of one's own, or is refused.
  'POST /api/v1/hosts': {
    who: '? ? ? ?  - + +  - + + -  - - -  - - -',
    body: { hosts: [{ name: 'new', site: 'central' }] },
  },
  'PATCH /api/v1/hosts/:id': { who: OPERATE, body: { baseWeight: 2 } },
  'POST /api/v1/hosts/:id/disable': { who: OPERATE, body: { reason: 'x' } },
  'POST /api/v1/hosts/:id/enable': { who: OPERATE },
  'POST /api/v1/hosts/:id/force-down': { who: OPERATE, body: { reason: 'x' } },
  'POST /api/v1/hosts/:id/clear-force-down': { who: OPERATE },
  'POST /api/v1/hosts/:id/join-token': { who: OPERATE },
  'POST /api/v1/hosts/:id/re-admit': { who: OPERATE, body: { reason: 'x' } },
  'GET /api/v1/scale-in': { who: SEE_LIST },
  'GET /api/v1/scale-in/blocked': { who: SEE_LIST },
  'POST /api/v1/scale-in/preview': { who: SEE_SITE, body: { hosts: ['central-0'] } },
  'POST /api/v1/scale-in/start': { who: OPERATE, body: { hosts: ['central-0'] } },
  'POST /api/v1/scale-in/end': { who: OPERATE, body: { hosts: ['central-0'] } },
  'POST /api/v1/scale-in/recover': { who: OPERATE, body: { hosts: ['central-0'] } },
  'POST /api/v1/scale-out': {
    who: '? ? ? ?  - + +  - + + -  - - -  - - -',
    body: { hosts: [{ name: 'new', site: 'central' }] },
  },
  'GET /api/v1/operations': { who: forProjects(SEE_LIST, '+ + +') },
  'GET /api/v1/operations/:id': { who: forProjects(SEE_SITE, '0 0 0') },
  'GET /api/v1/operations/:id/items': { who: forProjects(SEE_SITE, '0 0 0') },
  'GET /api/v1/operation-items': { who: forProjects(SEE_LIST, '+ + +') },
  'POST /api/v1/operations/:id/cancel': { who: OPERATE },
  'POST /api/v1/operations/:id/retry': { who: OPERATE },
  'GET /api/v1/hosts/:id/segments': { who: SEE_SITE },
  'GET /api/v1/hosts/:id/tenants': { who: SEE_SITE },
  'GET /api/v1/hosts/:id/dataplane': { who: SEE_SITE },
  'GET /api/v1/networks': { who: forProjects(SEE_FLEET, '+ + +') },
  'GET /api/v1/networks/:id': { who: forProjects(SEE_FLEET, '+ + 0') },
  'GET /api/v1/hosts/:id/agent-certificate': { who: SEE_SITE },
  'GET /api/v1/networks/:id/stock': { who: SEE_FLEET },
  'POST /api/v1/networks': { who: OPERATE_FLEET, body: { name: 'new' } },
  'PATCH /api/v1/networks/:id': { who: OPERATE_FLEET, body: { qosPolicy: 'gold' } },
  'DELETE /api/v1/networks/:id': { who: OPERATE_FLEET },
  'GET /api/v1/segments': { who: SEE_FLEET },
  'GET /api/v1/segments/:id': { who: SEE_FLEET },
  'GET /api/v1/segments/:id/stock': { who: SEE_FLEET },
  'POST /api/v1/segments': { who: OPERATE_FLEET, body: { name: 'new', network: 'lan', type: 'flat' } },
  'DELETE /api/v1/segments/:id': { who: OPERATE_FLEET },
  'GET /api/v1/subnets': { who: forProjects(SEE_FLEET, '+ + +') },
  'GET /api/v1/subnets/:id': { who: forProjects(SEE_FLEET, '+ + 0') },
  'POST /api/v1/subnets': {
    who: OPERATE_FLEET,
    body: { name: 'new', network: 'lan', segment: 'rack', cidr: '10.1.0.0/24' },
  },
  'PATCH /api/v1/subnets/:id': { who: OPERATE_FLEET, body: { gateway: '10.0.0.1' } },
  'DELETE /api/v1/subnets/:id': { who: OPERATE_FLEET },
  'GET /api/v1/ports': { who: forProjects(SEE_LIST, '+ + +') },
  'GET /api/v1/ports/:id': { who: forProjects(SEE_SITE, '+ + 0') },
  'POST /api/v1/ports': { who: forProjects(OPERATE_FLEET, '- + +'), body: { network: 'lan' } },
  'PATCH /api/v1/ports/:id': { who: forProjects(OPERATE_FLEET, '- + 0'), body: { name: 'uplink' } },
  'DELETE /api/v1/ports/:id': { who: forProjects(OPERATE_FLEET, '- + 0') },
  'GET /api/v1/quotas': { who: forProjects(SEE_FLEET, '+ + +') },
  'GET /api/v1/quotas/:id': { who: forProjects(SEE_FLEET, '+ + 0') },
  'PUT /api/v1/quotas/:id': { who: RULE_FLEET, body: { instances: 5 } },
  'DELETE /api/v1/quotas/:id': { who: RULE_FLEET },
  'GET /api/v1/routers': { who: forProjects(SEE_FLEET, '+ + +') },
  'GET /api/v1/routers/:id': { who: forProjects(SEE_FLEET, '+ + 0') },
  'POST /api/v1/routers': { who: OPERATE_FLEET, body: { name: 'new', externalNetwork: 'uplink' } },
  'PATCH /api/v1/routers/:id': { who: OPERATE_FLEET, body: { natAddress: '203.0.113.9' } },
  'DELETE /api/v1/routers/:id': { who: OPERATE_FLEET },
  'GET /api/v1/services': { who: SEE_FLEET },
  'GET /api/v1/services/:id': { who: SEE_FLEET },
  'GET /api/v1/services/:id/why': { who: SEE_FLEET },
  'PATCH /api/v1/services/:id': { who: OPERATE_FLEET, body: { exclusion: 'hard' } },
  'POST /api/v1/services/:id/move': { who: OPERATE_FLEET, body: { host: 'central-0' } },
  'POST /api/v1/services/rebalance': { who: OPERATE_FLEET, body: {} },
  'GET /api/v1/floating-addresses': { who: forProjects(SEE_FLEET, '+ + +') },
  'GET /api/v1/floating-addresses/:id': { who: forProjects(SEE_FLEET, '+ + 0') },
  'POST /api/v1/floating-addresses': { who: forProjects(OPERATE_FLEET, '- + +'), body: { network: 'uplink' } },
  'POST /api/v1/floating-addresses/:id/associate': {
    who: forProjects(OPERATE_FLEET, '- + 0'),
    body: { port: 'port-1' },
  },
  'POST /api/v1/floating-addresses/:id/disassociate': { who: forProjects(OPERATE_FLEET, '- + 0') },
  'DELETE /api/v1/floating-addresses/:id': { who: forProjects(OPERATE_FLEET, '- + 0') },
  'GET /api/v1/transport-zones': { who: SEE_FLEET },
  'GET /api/v1/transport-zones/:id': { who: SEE_FLEET },
  'POST /api/v1/transport-zones': { who: OPERATE_FLEET, body: { name: 'new' } },
  'PATCH /api/v1/transport-zones/:id': { who: OPERATE_FLEET, body: { mesh: 'needed' } },
  'DELETE /api/v1/transport-zones/:id': { who: OPERATE_FLEET },
  'GET /api/v1/network-events': { who: forProjects(SEE_LIST, '+ + +') },
  'POST /api/v1/network-events': {
    who: OPERATE_FLEET,
    body: { events: [{ port: 'port-1', name: 'plugged', serial: 1 }] },
  },
  'GET /api/v1/simulated-network/faults': { who: RULE_FLEET },
  'POST /api/v1/simulated-network/faults': { who: RULE_FLEET, body: { op: 'bind', outcome: 'binding-failed' } },
  'DELETE /api/v1/simulated-network/faults': { who: RULE_FLEET },
  'GET /api/v1/simulated-network/calls': { who: RULE_FLEET },
  'GET /api/v1/simulated-network/events': { who: RULE_FLEET },
  'PUT /api/v1/simulated-network/events': { who: RULE_FLEET, body: { enabled: false } },
  'GET /api/v1/flavors': { who: forProjects(SEE_FLEET, '+ + +') },
  'GET /api/v1/flavors/:id': { who: forProjects(SEE_FLEET, '+ + +') },
  'POST /api/v1/flavors': { who: OPERATE_FLEET, body: { name: 'new', vcpus: 1, memoryMiB: 1, diskGiB: 0 } },
  'DELETE /api/v1/flavors/:id': { who: OPERATE_FLEET },
  'GET /api/v1/groups': { who: forProjects(SEE_FLEET, '+ + +') },
  'GET /api/v1/groups/:id': { who: forProjects(SEE_FLEET, '+ + 0') },
  'POST /api/v1/groups': { who: OPERATE_FLEET, body: { name: 'new', policy: 'affinity' } },
  'PATCH /api/v1/groups/:id': { who: OPERATE_FLEET, body: { movesAtOnce: 2 } },
  'DELETE /api/v1/groups/:id': { who: OPERATE_FLEET },
  'GET /api/v1/instances': { who: forProjects(SEE_LIST, '+ + +') },
  'GET /api/v1/instances/:id': { who: forProjects(SEE_SITE, '+ + 0') },
  // A request for instances names a site of the caller's own, or is refused.
  'POST /api/v1/instances': {
    who: '? ? ? ?  - + +  - + + -  - - -  - + +',
    body: { flavor: 'small', networks: [{ network: 'lan' }], site: 'central' },
  },
  'POST /api/v1/instances/preview': {
    who: forProjects(SEE_LIST, '+ + +'),
    body: { flavor: 'small', networks: 'none' },
  },
  'DELETE /api/v1/instances/:id': { who: forProjects(OPERATE, '- + 0') },
  'POST /api/v1/instances/:id/move': { who: OPERATE, body: { kind: 'live' } },
  'POST /api/v1/instances/:id/shelve': { who: forProjects(OPERATE, '- + 0') },
  'POST /api/v1/instances/:id/unshelve': { who: forProjects(OPERATE, '- + 0') },
  'POST /api/v1/instances/:id/rebuild': { who: OPERATE },
  'POST /api/v1/instances/:id/power': { who: forProjects(OPERATE, '- + 0'), body: { power: 'on' } },
  'GET /api/v1/gates': { who: SEE_FLEET },
  'GET /api/v1/capacity': { who: SEE_LIST },
  'GET /api/v1/nodes': { who: forProjects(SEE_LIST, '+ + +') },
  'GET /api/v1/nodes/:id': { who: forProjects(SEE_SITE, '+ + 0') },
  // Enrolling names a site of one's own, or is refused.
  'POST /api/v1/nodes': {
    who: '? ? ? ?  - + +  - + + -  - - -  - - -',
    body: { name: 'new', site: 'central' },
  },
  'POST /api/v1/nodes/bulk': {
    who: '? ? ? ?  - + +  - + + -  - - -  - - -',
    body: { name: 'new', site: 'central' },
  },
  'PATCH /api/v1/nodes/:id': { who: OPERATE, body: { cpus: 2 } },
  'PUT /api/v1/nodes/:id/maintenance': { who: OPERATE, body: { reason: 'x' } },
  'DELETE /api/v1/nodes/:id/maintenance': { who: OPERATE },
  'POST /api/v1/nodes/:id/confirm-clean': { who: OPERATE, body: { reason: 'x' } },
  'DELETE /api/v1/nodes/:id': { who: OPERATE },
  'GET /api/v1/alarms': { who: SEE_LIST },
  'GET /api/v1/alarms/:id': { who: SEE_SITE },
  'DELETE /api/v1/alarms/:id': { who: RULE_FLEET },
  'POST /api/v1/agent/join': { who: JOIN, body: { secret: 'a'.repeat(43) } },
  'POST /api/v1/agent/heartbeat': { who: AGENT, body: { serviceVersion: 1 } },
  'POST /api/v1/agent/certificate': { who: AGENT, body: { certificateRequest: 'none' } },
  'GET /api/v1/agent/view': { who: AGENT },
  'GET /.well-known/host-meta': { who: PUBLIC },
  'GET /restconf': { who: SEE_LIST },
  'GET /restconf/data': { who: SEE_LIST },
  'GET /restconf/yang-library-version': { who: SEE_LIST },
  'GET /restconf/operations': { who: SEE_LIST },
  'GET /restconf/modules/:module': { who: SEE_LIST },
  'GET /restconf/data/ietf-yang-library::yang-library': { who: SEE_LIST },
  'GET /restconf/data/network-topology::network-topology': { who: SEE_LIST },
  'GET /restconf/data/network-topology::network-topology/topology=:topology': { who: SEE_LIST },
  'GET /restconf/data/network-topology::network-topology/topology=:topology/node=:node': { who: SEE_SITE },
  'GET /restconf/data/opendaylight-inventory::nodes': { who: SEE_LIST },
  'GET /restconf/data/opendaylight-inventory::nodes/node=:node': { who: SEE_SITE },
  'POST /restconf/operations/scalein-api::scalein-computes-start': {
    who: OPERATE,
    body: { 'scalein-api:input': { 'scalein-node-ids': ['central-0'] } },
  },
  'POST /restconf/operations/scalein-api::scalein-computes-end': {
    who: OPERATE,
    body: { 'scalein-api:input': { 'scalein-node-ids': ['central-0'] } },
  },
  'POST /restconf/operations/scalein-api::scalein-computes-recover': {
    who: OPERATE,
    body: { 'scalein-api:input': { 'recover-node-ids': ['central-0'] } },
  },
  'POST /api/v1/agent/connections/deposit': {
    who: AGENT,
    body: { service: 'nat:edge', operation: 'op-1', phase: 'syncing', connections: [], inAll: 0 },
  },
  'POST /api/v1/agent/connections/collect': {
    who: AGENT,
    body: { service: 'nat:edge', operation: 'op-1', phase: 'syncing', waitMs: 0 },
  },
  'GET /api/v1/reservations': { who: forProjects(SEE_LIST, '+ + +') },
  'GET /api/v1/reservations/:id': { who: `${forProjects(SEE_SITE, '+ + 0')}  +` },
  // Names a site or a project of the caller's own by itself; a manager requests for itself.
  'POST /api/v1/reservations': {
    who: '? ? ? ?  - + +  - + + +  - - -  - + +  +',
    body: { instance_uuid: 'new', manager: 'm1' },
  },
  // What is not there, or not one's own, is released: the answer is the same as to a repetition.
  'DELETE /api/v1/reservations/:id': { who: '? ? ? ?  - + +  - + + +  - - -  - + +  +' },
  'GET /api/v1/clusters': { who: SEE_LIST },
  'GET /api/v1/clusters/:id': { who: SEE_SITE },
  'POST /api/v1/clusters': { who: OPERATE_FLEET, body: { name: 'new', kind: 'simulated', site: 'central' } },
  'PATCH /api/v1/clusters/:id': { who: OPERATE, body: { drainsAtOnce: 2 } },
  'DELETE /api/v1/clusters/:id': { who: OPERATE },
  'GET /api/v1/workers': { who: SEE_LIST },
  'GET /api/v1/workers/:id': { who: SEE_SITE },
  'GET /api/v1/drain-reports': { who: SEE_LIST },
  'GET /api/v1/drain-reports/:id': { who: SEE_SITE },
  'POST /api/v1/clusters/:id/workers/adopt': { who: OPERATE, body: { nodes: [{ node: 'new-node' }] } },
  'POST /api/v1/clusters/:id/workers/preview': { who: SEE_SITE, body: { workers: ['worker-1'] } },
  'POST /api/v1/clusters/:id/workers/add': { who: OPERATE, body: { flavor: 'small', networks: 'none' } },
  'GET /api/v1/workers/:id/log': { who: OPERATE },
  'POST /api/v1/clusters/:id/workers/drain': { who: OPERATE, body: { workers: ['worker-1'] } },
  'POST /api/v1/clusters/:id/workers/remove': { who: OPERATE, body: { workers: ['worker-1'] } },
  'POST /api/v1/clusters/:id/workers/forget': { who: OPERATE, body: { workers: ['worker-1'] } },
  'POST /api/v1/clusters/:id/workers/return': { who: OPERATE, body: { workers: ['worker-1'] } },
  'GET /api/v1/inventories': { who: SEE_FLEET },
  'GET /api/v1/inventories/:id': { who: SEE_FLEET },
  'GET /api/v1/managers': { who: SEE_LIST },
  'GET /api/v1/managers/:manager': { who: SEE_SITE },
  'PUT /api/v1/managers/:manager': { who: MANAGER, body: { holder: 'p-1', version: '1' } },
  'DELETE /api/v1/managers/:manager': { who: OPERATE },
  'POST /api/v1/managers/:manager/renew': { who: MANAGER, body: { holder: 'p-1', leaseEpoch: 1 } },
  'POST /api/v1/managers/:manager/release': { who: MANAGER, body: { holder: 'p-1', leaseEpoch: 1 } },
  'POST /api/v1/managers/:manager/acquire': { who: MANAGER, body: { holder: 'p-1', leaseEpoch: 1 } },
  'POST /api/v1/managers/:manager/join-token': { who: RULE_FLEET, body: {} },
  'POST /api/v1/managers/:manager/join': { who: NONE_OF_THESE, body: { secret: 'a'.repeat(43) } },
  'POST /api/v1/managers/:manager/certificate': { who: MANAGER, body: { certificateRequest: 'none' } },
  'GET /api/v1/managers/:manager/tasks': { who: MANAGER },
  'POST /api/v1/managers/:manager/answers': {
    who: MANAGER,
    body: { holder: 'p-1', leaseEpoch: 1, task: 'op-1.a:deploy:1', outcome: 'done' },
  },
  'POST /api/v1/managers/:manager/drain': { who: OPERATE, body: { reason: 'x' } },
  'POST /api/v1/managers/:manager/undrain': { who: OPERATE },
  'POST /api/v1/managers/rebalance': { who: OPERATE_FLEET, body: { reason: 'x' } },
  'POST /api/v1/managers/:manager/pause': { who: OPERATE },
  'POST /api/v1/managers/:manager/resume': { who: OPERATE },
  'POST /api/v1/nodes/:id/actions': {
    who: MANAGER,
    body: { action: 'power-on', manager: 'm1', nodeEpoch: 1, instance: 'vm-1' },
  },
  'GET /api/v1/nodes/:id/machine': { who: MANAGER },
  'GET /api/v1/simulated-inventory/faults': { who: RULE_FLEET },
  'POST /api/v1/simulated-inventory/faults': { who: RULE_FLEET, body: { op: 'deploy', outcome: 'failed' } },
  'DELETE /api/v1/simulated-inventory/faults': { who: RULE_FLEET },
  'GET /api/v1/simulated-inventory/calls': { who: RULE_FLEET },
  'POST /api/v1/agent/observations': { who: AGENT, body: { answers: [{ task: 't', outcome: 'done' }] } },
};

/** What is named in paths; everything is in site central. */
const NAMED: Readonly<Record<string, string>> = {
  hosts: 'central-0',
  sites: 'central',
  operations: 'op-1',
  alarms: 'code:central',
  settings: 'liveness',
  ...SAMPLE_NETWORK,
  ...SAMPLE_NODES,
  ...SAMPLE_CLUSTERS,
};

/** What is named in the trees of RESTCONF, by parameter. */
const IN_TREES: Readonly<Record<string, string>> = {
  topology: 'ovsdb:1',
  node: 'central-0',
  module: 'scalein-api.yang',
};

/** Who each route is for, when it is not an administrator. */
const OTHERS: Readonly<Record<string, CallerName>> = { agent: 'agent', join: 'join', manager: 'manager' };

/** A caller that every route lets in. */
export const sufficientCaller = ({ access }: Route): CallerName => OTHERS[access] ?? 'admin';

export const keyOf = ({ method, path }: Route): string => `${method} ${path}`;

async function callersOf(world: ApiTestServer): Promise<Map<CallerName, string>> {
  const secrets = new Map<CallerName, string>([['garbage', 'mst_tk-1_0123456789abcdef0123456789']]);
  const soon = world.clock.nowMs() + 1000;
  const wanted: [CallerName, Parameters<ApiTestServer['token']>][] = [
    ['expired', ['admin', { expiresAtMs: soon }]],
    ['revoked', ['admin']],
    ['viewer', ['viewer']],
    ['operator', ['operator']],
    ['admin', ['admin']],
    ['site viewer', ['viewer', { site: 'central' }]],
    ['site operator', ['operator', { site: 'central' }]],
    ['site admin', ['admin', { site: 'central' }]],
    ['other site admin', ['admin', { site: 'north' }]],
    ['agent', ['agent', { host: 'central-1' }]],
    ['superseded agent', ['agent', { host: 'central-2' }]],
    ['join', ['join', { host: 'central-0' }]],
    ['project viewer', ['viewer', { project: 'default' }]],
    ['project operator', ['operator', { project: 'default' }]],
    ['other project operator', ['operator', { project: 'acme' }]],
    ['manager', ['manager', { manager: 'm1' }]],
  ];
  for (const [name, token] of wanted) secrets.set(name, await world.token(...token));
  world.clock.ahead(2000);
  const revoke = { method: 'DELETE', url: `/api/v1/tokens/${idIn(secrets.get('revoked'))}` } as const;
  expect((await world.call(secrets.get('admin'), revoke)).statusCode).toBe(200);
  await world.commit(hostChange('central-1', { credential: idIn(secrets.get('agent')) }));
  return secrets;
}

export const idIn = (secret: string | undefined): string => tokenIdIn(secret ?? '') ?? '';

export interface PreparedServer {
  readonly world: ApiTestServer;
  readonly secrets: Map<CallerName, string>;
  /** The id of a token that may be named in paths. */
  readonly token: string;
}

export async function prepareServer(options?: Parameters<typeof startApiTestServer>[0]): Promise<PreparedServer> {
  const world = await startApiTestServer(options);
  await populate(world);
  const secrets = await callersOf(world);
  const items = [{ key: 'central-0', target: { kind: 'host', id: 'central-0' }, step: 'await-agent' }];
  const id = idOf(OPERATION, 'op-1');
  const request = { kind: 'host-join', title: 't', by: 'test', site: 'central', nowMs: 1, deadlineMs: 10 ** 12 };
  await world.commit(
    ...newOperation({ id, ...request, items }),
    ...sampleNetwork(),
    ...sampleNodes(),
    ...sampleClusters(),
    hostChange('central-0', { switch: { datapathId: '00000000000000c0' } }),
    put(ALARM, alarmId('code', 'central'), { severity: 'warning', site: 'central', reason: { code: 'x' }, sinceMs: 1 }),
  );
  return { world, secrets, token: idIn(await world.token('viewer')) };
}

export function requestFor(route: Route, token: string): InjectOptions {
  const folder = route.path.split('/')[3] ?? '';
  const named = folder === 'tokens' ? token : (NAMED[folder] ?? '');
  // Two colons are one that begins no parameter.
  const parts = route.path
    .split('::')
    .map((part) => part.replaceAll(/:([a-z]+)/g, (_, name: string) => IN_TREES[name] ?? named));
  const url = parts.join(':');
  const body = TABLE[keyOf(route)]?.body;
  const inLines = route.kind === 'bulk' && {
    payload: `${JSON.stringify(body)}\n`,
    headers: { 'content-type': route.bodyType ?? '' },
  };
  // A stream is answered as soon as it begins.
  const asStream = route.kind === 'stream' && { payloadAsStream: true };
  return { method: route.method, url, ...(body !== undefined && { payload: body }), ...inLines, ...asStream };
}
