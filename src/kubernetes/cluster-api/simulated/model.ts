// The objects of simulated clusters as documents: what stands for a cluster outlives the server that decides, as a real one does, and is the same for whichever
// server decides next.
import { Type, type Static } from 'typebox';
import { schemaKind, type Index, type Model } from '../../../fleet/index.ts';
import {
  SIMULATED_NODE_SCHEMA,
  SIMULATED_POD_SCHEMA,
  SIMULATED_WORKLOAD_SCHEMA,
  type SimulatedClusterNode,
  type SimulatedPod,
  type SimulatedWorkload,
} from './objects.ts';

const TOKEN_SCHEMA = Type.Object(
  { cluster: Type.String(), expiresAtMs: Type.Integer() },
  { additionalProperties: false },
);
export type SimulatedToken = Static<typeof TOKEN_SCHEMA>;

export const SIMULATED_NODE = schemaKind('simulated-cluster-node', SIMULATED_NODE_SCHEMA);
export const SIMULATED_WORKLOAD = schemaKind('simulated-workload', SIMULATED_WORKLOAD_SCHEMA);
export const SIMULATED_POD = schemaKind('simulated-pod', SIMULATED_POD_SCHEMA);
/** Of a token its id only: a simulated kubelet proves nothing. */
export const SIMULATED_TOKEN = schemaKind('simulated-join-token', TOKEN_SCHEMA);

export const SIMULATED_NODES_BY_CLUSTER: Index<'simulated-cluster-node', SimulatedClusterNode> = {
  name: 'simulated-nodes-by-cluster',
  kind: SIMULATED_NODE,
  keysOf: (doc) => [doc.cluster],
};

export const SIMULATED_WORKLOADS_BY_CLUSTER: Index<'simulated-workload', SimulatedWorkload> = {
  name: 'simulated-workloads-by-cluster',
  kind: SIMULATED_WORKLOAD,
  keysOf: (doc) => [doc.cluster],
};

export const SIMULATED_PODS_BY_CLUSTER: Index<'simulated-pod', SimulatedPod> = {
  name: 'simulated-pods-by-cluster',
  kind: SIMULATED_POD,
  keysOf: (doc) => [doc.cluster],
};

export const SIMULATED_TOKENS_BY_CLUSTER: Index<'simulated-join-token', SimulatedToken> = {
  name: 'simulated-join-tokens-by-cluster',
  kind: SIMULATED_TOKEN,
  keysOf: (doc) => [doc.cluster],
};

export const simulatedClusterModel: Model = {
  kinds: [SIMULATED_NODE, SIMULATED_WORKLOAD, SIMULATED_POD, SIMULATED_TOKEN],
  indexes: [
    SIMULATED_NODES_BY_CLUSTER,
    SIMULATED_WORKLOADS_BY_CLUSTER,
    SIMULATED_PODS_BY_CLUSTER,
    SIMULATED_TOKENS_BY_CLUSTER,
  ],
};
