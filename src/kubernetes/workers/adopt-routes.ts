// The request that adopts Nodes. It reads them in their cluster before the decision, at the server that holds the lease.
import { Type } from 'typebox';
import { answer, BY_ID, ID, notPrepared, strictObject, write, type Route, type Write } from '../../access/index.ts';
import type { FleetReader } from '../../fleet/index.ts';
import { INSTANCE } from '../../instances/index.ts';
import type { ClusterCallOptions, ClusterApi, ClusterNode } from '../cluster-api/cluster-api.ts';
import { LOOK_MAX_MS, readCluster } from '../cluster-api/read-cluster.ts';
import type { ClusterApis } from '../drain/nodes-driver.ts';
import { DNS_LABEL } from '../model.ts';
import { CLUSTER_REPRESENTATION } from '../representations.ts';
import { adoptNodes, workerId, type AdoptNodes } from './adopt.ts';
import { WORKERS_AT_ONCE_MAX } from './chosen-workers.ts';

const ONE = strictObject({ node: DNS_LABEL, instance: Type.Optional(ID) });
const Body = strictObject({ nodes: Type.Array(ONE, { minItems: 1, maxItems: WORKERS_AT_ONCE_MAX }) });
const Adopted = strictObject({ workers: Type.Array(Type.String()) });

export function adoptRoute(apis: ClusterApis): Route {
  return write({
    method: 'POST',
    path: '/api/v1/clusters/:id/workers/adopt',
    tag: 'workers',
    about: 'Take Nodes that are in a cluster already as workers; nothing is changed there',
    access: 'operator',
    scope: 'site',
    looksOutside: true,
    params: BY_ID,
    body: Body,
    answers: { 201: { about: 'the workers', schema: Adopted } },
    handle: ({ params: { id }, body, caller }, { clock, redactorFor, closing }) => {
      const canSeeInstance = (now: FleetReader, instance: string): boolean =>
        redactorFor(caller, now)?.canSee(INSTANCE.name, instance) !== false;
      const named = { cluster: id, nodes: body.nodes, canSeeInstance };
      const command = { ...named, by: caller.name, nowMs: clock.nowMs() };
      const composeWrite = (seen?: AdoptNodes['seen']): Write<readonly string[]> => ({
        target: { representation: CLUSTER_REPRESENTATION, id },
        why: `adopt workers of cluster ${id}`,
        // The cluster is read only for whoever may do this and sees it, both decided in a commit.
        decide: (fleet) => (seen === undefined ? notPrepared() : adoptNodes(fleet, { ...command, seen })),
        answer: ({ result: workers }) => ({ ...answer({ workers }, 201), memo: '' }),
        recompose: () => answer({ workers: body.nodes.map(({ node }) => workerId(id, node)) }, 201),
        prepare: async () => {
          const signal = AbortSignal.any([closing, AbortSignal.timeout(LOOK_MAX_MS)]);
          const found = await readCluster(apis, id, { look: listByName, signal });
          return 'code' in found ? found : composeWrite(found.seen);
        },
      });
      return composeWrite();
    },
  });
}

async function listByName(api: ClusterApi, how: ClusterCallOptions): Promise<Map<string, ClusterNode>> {
  const nodes = await api.listNodes(how);
  return new Map(nodes.map((node) => [node.name, node]));
}
