// The HTTP surface of clusters. No decisions here.
import { Type } from 'typebox';
import {
  createRoute,
  deleteRoute,
  ID,
  readRoutes,
  strictObject,
  type Listing,
  type Resource,
  type Route,
} from '../../access/index.ts';
import { CLUSTER_KINDS, CLUSTER_STATES, CLUSTERS_BY_SITE, DNS_LABEL, type Cluster } from '../model.ts';
import { CLUSTER_REPRESENTATION } from '../representations.ts';
import { createSimulatedCluster, deleteCluster } from './decide.ts';

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

const Spec = strictObject({ name: DNS_LABEL, kind: Type.Enum(['simulated']), site: Type.Optional(ID) });

export const clusterRoutes: readonly Route[] = [
  ...readRoutes(CLUSTERS, { listing: LISTING, scope: 'site' }),
  createRoute(CLUSTERS, {
    about: 'Register a cluster',
    access: 'operator',
    scope: 'fleet',
    body: Spec,
    decide: createSimulatedCluster,
  }),
  deleteRoute(CLUSTERS, {
    about: 'Forget a cluster that has no workers; nothing is done there',
    access: 'operator',
    scope: 'site',
    decide: deleteCluster,
  }),
];
