// The HTTP surface of clusters. No decisions here: a kubeconfig is read and sealed before the decision, which then only stores what it says.
import { Type, type Static } from 'typebox';
import {
  deleteRoute,
  ID,
  notPrepared,
  readRoutes,
  refusalAnswer,
  renderCommitted,
  strictObject,
  write,
  type Listing,
  type Resource,
  type Route,
  type RouteContext,
  type Write,
} from '../../access/index.ts';
import type { Refusal, ChangeNote } from '../../fleet/index.ts';
import { isLoopback } from '../../link/index.ts';
import type { ClusterAccess } from '../cluster-api/client/access.ts';
import { PROJECT } from '../../network/index.ts';
import {
  CLUSTER_KINDS,
  CLUSTER_SCHEMA,
  CLUSTER_STATES,
  CLUSTERS_BY_SITE,
  DNS_LABEL,
  DRAIN_POLICY_SCHEMA,
  type Cluster,
} from '../model.ts';
import { CLUSTER_REPRESENTATION } from '../representations.ts';
import { deleteCluster, registerCluster, type ClusterSpec } from './decide.ts';
import { refuseKubeconfig } from './edit.ts';
import { refuseLook, type FirstLook } from './first-look.ts';
import { composeAccess } from './access-request.ts';
import { KUBECONFIG_CONTEXT, KUBECONFIG_TEXT } from './reach-request.ts';

const CLUSTERS: Resource<'cluster', Cluster> = {
  path: '/api/v1/clusters',
  plural: 'clusters',
  singular: 'cluster',
  representation: CLUSTER_REPRESENTATION,
};

const LISTING: Listing<'cluster', Cluster> = {
  representation: CLUSTER_REPRESENTATION,
  filters: {
    site: { schema: ID, valuesOf: (doc) => [doc.site], index: CLUSTERS_BY_SITE },
    kind: { schema: Type.Enum(CLUSTER_KINDS), valuesOf: (doc) => [doc.kind] },
    state: { schema: Type.Enum(CLUSTER_STATES), valuesOf: (doc) => [doc.state] },
  },
  nameIsId: true,
  sorts: { name: (doc) => doc.name, state: (doc) => doc.state },
};

const { joinEndpoint, whenHostLeaves, drainsAtOnce } = CLUSTER_SCHEMA.properties;
const { deadlineMs, evictBare, keepEmptyDir } = DRAIN_POLICY_SCHEMA.properties;

/** Of all workloads. Where they run is worked out in one decision, which takes a tenth of a second for so many and grows with their square. */
const SIMULATED_PODS_MAX = 1000;

const SIMULATED = strictObject({
  nodes: Type.Integer({ minimum: 0, maximum: 100, description: 'named node-1, node-2, …' }),
  workloads: Type.Optional(
    Type.Array(
      strictObject({
        name: DNS_LABEL,
        replicas: Type.Integer({ minimum: 0, maximum: 1000 }),
        minAvailable: Type.Optional(
          Type.Integer({ minimum: 0, description: 'the least that its budget leaves ready' }),
        ),
      }),
      { maxItems: 20 },
    ),
  ),
});

const Spec = strictObject({
  name: DNS_LABEL,
  kind: Type.Optional(Type.Enum(CLUSTER_KINDS, { description: 'api unless said' })),
  kubeconfig: Type.Optional(KUBECONFIG_TEXT),
  context: Type.Optional(KUBECONFIG_CONTEXT),
  simulated: Type.Optional(SIMULATED),
  site: Type.Optional(ID),
  project: Type.Optional(PROJECT),
  joinEndpoint,
  drainPolicy: Type.Optional(
    strictObject({
      deadlineMs: Type.Optional(deadlineMs),
      evictBare: Type.Optional(evictBare),
      keepEmptyDir: Type.Optional(keepEmptyDir),
    }),
  ),
  whenHostLeaves: Type.Optional(whenHostLeaves),
  drainsAtOnce: Type.Optional(drainsAtOnce),
});

/** Looks at a cluster by an access that is not registered yet. */
export type LookFirst = (access: ClusterAccess) => Promise<FirstLook>;

export function clusterRoutes(lookFirst: LookFirst): readonly Route[] {
  return [
    ...readRoutes(CLUSTERS, { listing: LISTING, scope: 'site' }),
    registerRoute(lookFirst),
    deleteRoute(CLUSTERS, {
      about: 'Forget a cluster that has no workers; nothing is done there',
      access: 'operator',
      scope: 'site',
      decide: deleteCluster,
    }),
  ];
}

function registerRoute(lookFirst: LookFirst): Route {
  return write({
    method: 'POST',
    path: CLUSTERS.path,
    tag: CLUSTERS.plural,
    about: 'Register a cluster that exists, and say what Muster may not do there; nothing is changed there',
    access: 'operator',
    scope: 'fleet',
    asksForNames: true,
    looksOutside: true,
    body: Spec,
    answers: {
      201: {
        about: 'the cluster; its state is unknown when it has not answered yet',
        schema: CLUSTER_REPRESENTATION.schema,
      },
    },
    handle: ({ body, caller }, world) => {
      const composed = composeSpec(body, world);
      if ('code' in composed) return refusalAnswer(composed);
      return registration(composed, { by: caller.name, nowMs: world.clock.nowMs() }, lookFirst);
    },
  });
}

/** A cluster with an API is looked at before it is registered, once it is known that nothing else keeps it from that. */
function registration({ spec, access }: ComposedSpec, change: ChangeNote, lookFirst: LookFirst): Write {
  const { name } = spec;
  const register = (looked: ClusterSpec): Write => ({
    creates: { representation: CLUSTER_REPRESENTATION, names: [name], fieldOf: () => '/name' },
    why: `register cluster ${name}`,
    decide: (fleet) => registerCluster(fleet, looked, change),
    answer: ({ after }) =>
      renderCommitted(CLUSTER_REPRESENTATION, after, {
        id: name,
        status: 201,
        location: `${CLUSTERS.path}/${name}`,
      }),
  });
  if (access === undefined) return register(spec);
  return {
    ...register(spec),
    decide: (fleet) => {
      const decided = registerCluster(fleet, spec, change);
      return decided.kind === 'refuse' ? decided : notPrepared();
    },
    prepare: async () => {
      const look = await lookFirst(access);
      const refusal = refuseLook(look);
      if (refusal !== undefined) return refusal;
      return register({ ...spec, ...(look.kind === 'answered' && { facts: look.facts }) });
    },
  };
}

interface ComposedSpec {
  readonly spec: ClusterSpec;
  /** Of a cluster with an API. */
  readonly access?: ClusterAccess;
}

function composeSpec(body: Static<typeof Spec>, world: Pick<RouteContext, 'seal'>): ComposedSpec | Refusal {
  const { kind = 'api', kubeconfig, context, ...rest } = body;
  if (kind === 'simulated') {
    const pods = (rest.simulated?.workloads ?? []).reduce((sum, { replicas }) => sum + replicas, 0);
    if (pods > SIMULATED_PODS_MAX) return refusePods(pods);
    return kubeconfig === undefined ? { spec: { ...rest, kind } } : refuseKubeconfig();
  }
  if (rest.simulated !== undefined) return refuseSimulated();
  if (kubeconfig === undefined) return requireKubeconfig();
  const composed = composeAccess({ name: body.name, kubeconfig, context, isLoopback }, world);
  return 'code' in composed ? composed : { spec: { ...rest, ...composed.stored, kind }, access: composed.access };
}

function requireKubeconfig(): Refusal {
  const message =
    'A cluster is registered by its kubeconfig. Give one, with everything inside, or say that the cluster is simulated.';
  return { kind: 'invalid', code: 'kubeconfig-required', message, field: '/kubeconfig' };
}

function refuseSimulated(): Refusal {
  const message =
    'What a simulated cluster has is no part of a real one. Leave it out, or say that the cluster is simulated.';
  return { kind: 'invalid', code: 'cluster-not-simulated', message, field: '/simulated' };
}

function refusePods(pods: number): Refusal {
  const message = `A simulated cluster has ${SIMULATED_PODS_MAX} pods at most, and these workloads have ${pods} replicas. Give them fewer.`;
  const facts = { pods, most: SIMULATED_PODS_MAX };
  return { kind: 'invalid', code: 'too-many-simulated-pods', message, field: '/simulated/workloads', facts };
}
