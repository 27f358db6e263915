// The request that shows what a drain would do: it reads the pods of the workers in their cluster, and writes nothing.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  findVisible,
  noSuch,
  read,
  refusalAnswer,
  strictObject,
  type Route,
} from '../../access/index.ts';
import { LOOK_MAX_MS, readCluster } from '../cluster-api/read-cluster.ts';
import type { ClusterApis } from '../drain/nodes-driver.ts';
import { READINESS } from '../model.ts';
import { CLUSTER_REPRESENTATION } from '../representations.ts';
import { chooseForDrain } from './decide.ts';
import { previewWorker } from './preview.ts';
import { readChosenWorkers, POLICY_FIELDS, WORKERS_FIELDS } from './request-fields.ts';

const POD = strictObject({
  namespace: Type.String(),
  pod: Type.String(),
  fate: Type.Enum(['evict', 'terminating', 'stays', 'later', 'never'], {
    description: 'later: its budget allows no eviction now; never: no waiting cures it',
  }),
  why: Type.Optional(Type.String()),
  budget: Type.Optional(Type.String()),
  losesEmptyDir: Type.Optional(Type.Literal(true)),
  graceSeconds: Type.Optional(Type.Integer()),
});

const PREVIEW = strictObject({
  worker: Type.String(),
  node: Type.String(),
  readiness: Type.Enum(READINESS),
  isUnschedulable: Type.Boolean(),
  isBlocked: Type.Boolean({ description: 'a drain would end before its first eviction' }),
  pods: Type.Array(POD),
});

const Body = strictObject({ ...WORKERS_FIELDS, ...POLICY_FIELDS });
/** Each is a look at its pods. */
const PREVIEWED_MAX = 50;

export function previewRoute(apis: ClusterApis): Route {
  return read({
    method: 'POST',
    path: '/api/v1/clusters/:id/workers/preview',
    tag: 'workers',
    about: `Show what a drain would do with every pod of workers, of ${PREVIEWED_MAX} at most; nothing is changed`,
    access: 'viewer',
    scope: 'site',
    onFollower: 'forward',
    looksOutside: true,
    params: BY_ID,
    body: Body,
    answers: { 200: { about: 'each worker, with its pods', schema: strictObject({ items: Type.Array(PREVIEW) }) } },
    handle: async ({ params: { id }, body, caller }, { journal: { fleet }, closing }) => {
      if (findVisible(fleet, CLUSTER_REPRESENTATION, { caller, id }) === undefined)
        return refusalAnswer(noSuch('cluster', id, caller));
      const { workers: nodes, count, ...overrides } = body;
      const chosen = chooseForDrain(fleet, {
        cluster: id,
        workers: readChosenWorkers(nodes, count),
        policy: overrides,
      });
      if ('code' in chosen) return refusalAnswer(chosen);
      const { policy } = chosen;
      const looked = chosen.workers.slice(0, PREVIEWED_MAX);
      const found = await readCluster(apis, id, {
        look: async (api, { signal }) =>
          Promise.all(looked.map((worker) => previewWorker(api, worker, { policy, signal }))),
        signal: AbortSignal.any([closing, AbortSignal.timeout(LOOK_MAX_MS)]),
      });
      return 'code' in found ? refusalAnswer(found) : answer({ items: found.seen });
    },
  });
}
