// The request that adopts Nodes. It reads them in their cluster before the decision, at the server that holds the lease.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  findVisible,
  ID,
  noSuch,
  read,
  refusalAnswer,
  strictObject,
  type Route,
} from '../../access/index.ts';
import type { FleetReader } from '../../fleet/index.ts';
import { INSTANCE } from '../../instances/index.ts';
import type { ClusterApi, ClusterNode } from '../cluster-api/cluster-api.ts';
import { readCluster } from '../cluster-api/read-cluster.ts';
import type { ClusterApis } from '../drain/nodes-driver.ts';
import { DNS_LABEL } from '../model.ts';
import { CLUSTER_REPRESENTATION } from '../representations.ts';
import { adoptNodes } from './adopt.ts';
import { WORKERS_AT_ONCE_MAX } from './decide.ts';

const ONE = strictObject({ node: DNS_LABEL, instance: Type.Optional(ID) });
const Body = strictObject({ nodes: Type.Array(ONE, { minItems: 1, maxItems: WORKERS_AT_ONCE_MAX }) });
const Adopted = strictObject({ workers: Type.Array(Type.String()) });

export function adoptRoute(apis: ClusterApis): Route {
  return read({
    method: 'POST',
    path: '/api/v1/clusters/:id/workers/adopt',
    tag: 'workers',
    about: 'Take Nodes that are in a cluster already as workers; nothing is changed there',
    access: 'operator',
    scope: 'site',
    onFollower: 'forward',
    params: BY_ID,
    body: Body,
    answers: { 201: { about: 'the workers', schema: Adopted } },
    handle: async ({ params: { id }, body, caller, authority }, world) => {
      const { fleet } = world.journal;
      if (findVisible(fleet, CLUSTER_REPRESENTATION, { caller, id }) === undefined)
        return refusalAnswer(noSuch('cluster', id, caller));
      const found = await readCluster(apis, id, listByName);
      if ('code' in found) return refusalAnswer(found);
      const canSeeInstance = (now: FleetReader, instance: string): boolean =>
        world.redactorFor(caller, now)?.canSee(INSTANCE.name, instance) !== false;
      const named = { cluster: id, nodes: body.nodes, canSeeInstance };
      const command = { ...named, seen: found.seen, by: caller.name, nowMs: world.clock.nowMs() };
      const outcome = await world.submit(authority, {
        why: `adopt workers of cluster ${id}`,
        decide: (now) => adoptNodes(now, command),
      });
      return outcome.kind === 'refused' ? refusalAnswer(outcome.refusal) : answer({ workers: outcome.answer }, 201);
    },
  });
}

async function listByName(api: ClusterApi): Promise<Map<string, ClusterNode>> {
  const nodes = await api.listNodes({ signal: new AbortController().signal });
  return new Map(nodes.map((node) => [node.name, node]));
}
