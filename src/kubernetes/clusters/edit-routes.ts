// The HTTP surface of changes to clusters. No decisions here: credentials are sealed before the decision, which then only stores them.
import { createHash } from 'node:crypto';
import {
  BY_ID,
  notPrepared,
  refusalAnswer,
  renderCommitted,
  write,
  type Route,
  type RouteContext,
  type Write,
} from '../../access/index.ts';
import type { Refusal } from '../../fleet/index.ts';
import { isLoopback } from '../../link/index.ts';
import type { ClusterAccess } from '../cluster-api/client/access.ts';
import { CLUSTER } from '../model.ts';
import { CLUSTER_REPRESENTATION } from '../representations.ts';
import { composeAccess } from './access-request.ts';
import { editCluster, type ClusterEdit } from './edit.ts';
import { refuseLook } from './first-look.ts';
import { CLUSTER_EDIT, composeSshEdit, type ClusterEditRequest } from './reach-request.ts';
import type { LookFirst } from './routes.ts';

export function editClusterRoute(lookFirst: LookFirst): Route {
  return write({
    method: 'PATCH',
    path: '/api/v1/clusters/:id',
    tag: 'clusters',
    about: 'Change how a cluster and the machines of new workers are reached, and how workers are drained',
    access: 'operator',
    scope: 'site',
    looksOutside: true,
    params: BY_ID,
    body: CLUSTER_EDIT,
    answers: { 200: { about: 'the cluster', schema: CLUSTER_REPRESENTATION.schema } },
    handle: ({ params: { id }, body, caller }, world) => {
      const composed = composeEdit(id, body, world);
      if ('code' in composed) return refusalAnswer(composed);
      const { edit, access } = composed;
      const note = { by: caller.name, nowMs: world.clock.nowMs() };
      const compose = (looked: ClusterEdit): Write => ({
        target: { representation: CLUSTER_REPRESENTATION, id },
        why: `edit ${Object.keys(body).join(', ')}`,
        decide: (fleet) => editCluster(fleet, { id, edit: looked }, note),
        answer: ({ after }) => renderCommitted(CLUSTER_REPRESENTATION, after, { id }),
      });
      return access === undefined ? compose(edit) : lookBefore(compose, { edit, access, lookFirst });
    },
  });
}

interface LookedAt extends ComposedEdit {
  readonly access: ClusterAccess;
  readonly lookFirst: LookFirst;
}

/** As at registration: once it is known that nothing else keeps the cluster from being changed. */
function lookBefore(compose: (edit: ClusterEdit) => Write, { edit, access, lookFirst }: LookedAt): Write {
  const plain = compose(edit);
  return {
    ...plain,
    decide: (fleet, ...more) => {
      const decided = plain.decide(fleet, ...more);
      return decided.kind === 'refuse' ? decided : notPrepared();
    },
    prepare: async () => {
      const look = await lookFirst(access);
      return refuseLook(look) ?? compose({ ...edit, ...(look.kind === 'answered' && { facts: look.facts }) });
    },
  };
}

interface ComposedEdit {
  readonly edit: ClusterEdit;
  readonly access?: ClusterAccess;
}

function composeEdit(
  id: string,
  { ssh: asked, workerScript: text, kubeconfig, context, ...rest }: ClusterEditRequest,
  world: Pick<RouteContext, 'seal'>,
): ComposedEdit | Refusal {
  const ssh = asked && composeSshEdit(asked, (secret) => world.seal({ kind: CLUSTER.name, id }, secret));
  if (ssh !== undefined && 'code' in ssh) return ssh;
  if (kubeconfig === undefined && context !== undefined) return requireKubeconfig();
  const reached =
    kubeconfig === undefined ? undefined : composeAccess({ name: id, kubeconfig, context, isLoopback }, world);
  if (reached !== undefined && 'code' in reached) return reached;
  const edit = {
    ...rest,
    ...(ssh !== undefined && { ssh }),
    ...(text !== undefined && { workerScript: text === null ? null : { text, digest: digestOf(text) } }),
    ...(reached !== undefined && { access: reached.stored }),
  };
  return { edit, ...(reached !== undefined && { access: reached.access }) };
}

function requireKubeconfig(): Refusal {
  const message = 'A context is one of a kubeconfig. Give that with it.';
  return { kind: 'invalid', code: 'kubeconfig-required', message, field: '/kubeconfig' };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
