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
import type { Refusal } from '../../fleet/index.ts';
import { ClusterRefused, ClusterUnreachable, type ClusterApi, type ClusterNode } from '../cluster-api/cluster-api.ts';
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
      const seen = await readNodes(apis, id);
      if ('code' in seen) return refusalAnswer(seen);
      const command = { cluster: id, nodes: body.nodes, seen, by: caller.name, nowMs: world.clock.nowMs() };
      const outcome = await world.submit(authority, {
        why: `adopt workers of cluster ${id}`,
        decide: (now) => adoptNodes(now, command),
      });
      return outcome.kind === 'refused' ? refusalAnswer(outcome.refusal) : answer({ workers: outcome.answer }, 201);
    },
  });
}

async function readNodes(apis: ClusterApis, cluster: string): Promise<Map<string, ClusterNode> | Refusal> {
  const api = apis.apiOf(cluster);
  if (api === undefined || 'reason' in api) return unreachable(cluster, api?.reason.code ?? 'not registered');
  try {
    return await listByName(api);
  } catch (error) {
    if (!(error instanceof ClusterUnreachable) && !(error instanceof ClusterRefused)) throw error;
    return unreachable(cluster, error.message);
  }
}

async function listByName(api: ClusterApi): Promise<Map<string, ClusterNode>> {
  const nodes = await api.listNodes({ signal: new AbortController().signal });
  return new Map(nodes.map((node) => [node.name, node]));
}

function unreachable(cluster: string, text: string): Refusal {
  const message = `The Nodes of cluster "${cluster}" cannot be read: ${text.replace(/[.\s]+$/, '')}. Nothing was changed. "muster clusters show ${cluster}" says since when.`;
  return { kind: 'unavailable', code: 'cluster-unreachable', message, facts: { cluster } };
}
