// The HTTP surface of changes to clusters. No decisions here: credentials are sealed before the decision, which then only stores them.
import { createHash } from 'node:crypto';
import { BY_ID, refusalAnswer, renderCommitted, write, type Route, type RouteContext } from '../../access/index.ts';
import type { Refusal } from '../../fleet/index.ts';
import { CLUSTER } from '../model.ts';
import { CLUSTER_REPRESENTATION } from '../representations.ts';
import { editCluster, type ClusterEdit } from './edit.ts';
import { CLUSTER_EDIT, composeSshEdit, type ClusterEditRequest } from './reach-request.ts';

export const editClusterRoute: Route = write({
  method: 'PATCH',
  path: '/api/v1/clusters/:id',
  tag: 'clusters',
  about: 'Change how machines of new workers are reached and joined, and how workers are drained',
  access: 'operator',
  scope: 'site',
  params: BY_ID,
  body: CLUSTER_EDIT,
  answers: { 200: { about: 'the cluster', schema: CLUSTER_REPRESENTATION.schema } },
  handle: ({ params, body, caller }, world) => {
    const edit = composeEdit(params.id, body, world);
    if ('code' in edit) return refusalAnswer(edit);
    const note = { by: caller.name, nowMs: world.clock.nowMs() };
    return {
      target: { representation: CLUSTER_REPRESENTATION, id: params.id },
      why: `edit ${Object.keys(body).join(', ')}`,
      decide: (fleet) => editCluster(fleet, { id: params.id, edit }, note),
      answer: ({ after }) => renderCommitted(CLUSTER_REPRESENTATION, after, params),
    };
  },
});

function composeEdit(
  id: string,
  { ssh: asked, workerScript: text, ...rest }: ClusterEditRequest,
  { seal }: Pick<RouteContext, 'seal'>,
): ClusterEdit | Refusal {
  const ssh = asked && composeSshEdit(asked, (secret) => seal({ kind: CLUSTER.name, id }, secret));
  if (ssh !== undefined && 'code' in ssh) return ssh;
  return {
    ...rest,
    ...(ssh !== undefined && { ssh }),
    ...(text !== undefined && { workerScript: text === null ? null : { text, digest: digestOf(text) } }),
  };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
