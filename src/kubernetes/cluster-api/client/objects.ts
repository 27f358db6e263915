// What the objects of a real cluster mean for the port. Fields that are missing are as Kubernetes defaults them.
import type {
  V1LabelSelector,
  V1Node,
  V1PersistentVolume,
  V1Pod,
  V1PodDisruptionBudget,
} from '@kubernetes/client-node';
import type { Budget, ClusterNode, LabelRequirement, LabelSelector, Pod } from '../cluster-api.ts';

/** Load balancers outside the cluster leave a Node with this label alone. */
export const EXCLUDE_LABEL = 'node.kubernetes.io/exclude-from-external-load-balancers';

const CONTROL_PLANE_LABELS = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
const DEFAULT_GRACE_SECONDS = 30;

export function describeNode({ metadata = {}, spec = {}, status = {} }: V1Node): ClusterNode {
  const labels = metadata.labels ?? {};
  const ready = status.conditions?.find(({ type }) => type === 'Ready')?.status;
  const { providerID } = spec;
  const kubeletVersion = status.nodeInfo?.kubeletVersion;
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    readiness: ready === 'True' ? 'ready' : ready === 'False' ? 'not-ready' : 'unknown',
    isUnschedulable: spec.unschedulable === true,
    isExcludedFromLoadBalancers: labels[EXCLUDE_LABEL] !== undefined,
    isControlPlane: CONTROL_PLANE_LABELS.some((label) => labels[label] !== undefined),
    ...(providerID !== undefined && providerID !== '' && { providerId: providerID }),
    ...(kubeletVersion !== undefined && kubeletVersion !== '' && { kubeletVersion }),
    createdAtMs: metadata.creationTimestamp?.getTime() ?? 0,
  };
}

export function describePod({ metadata = {}, spec, status = {} }: V1Pod): Pod {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const volumes = spec?.volumes ?? [];
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    labels: metadata.labels ?? {},
    ...(owner !== undefined && { owner: { kind: owner.kind, name: owner.name, uid: owner.uid } }),
    isMirror: metadata.annotations?.[MIRROR_ANNOTATION] !== undefined,
    isFinished: status.phase === 'Succeeded' || status.phase === 'Failed',
    isTerminating: metadata.deletionTimestamp !== undefined,
    isReady: status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true,
    graceSeconds: spec?.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS,
    hasEmptyDir: volumes.some(({ emptyDir }) => emptyDir !== undefined),
    claims: volumes.flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? []),
  };
}

export function describeBudget({ metadata = {}, spec, status }: V1PodDisruptionBudget): Budget {
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    ...(spec?.selector !== undefined && { selector: describeSelector(spec.selector) }),
    disruptionsAllowed: status?.disruptionsAllowed ?? 0,
  };
}

function describeSelector({ matchLabels = {}, matchExpressions = [] }: V1LabelSelector): LabelSelector {
  return {
    matchLabels,
    matchExpressions: matchExpressions.map(({ key, operator, values = [] }) => ({
      key,
      operator: operator as LabelRequirement['operator'],
      values,
    })),
  };
}

/** Its data is on one node, whatever its pod does. */
export function isLocalVolume({ spec }: V1PersistentVolume): boolean {
  return spec?.local !== undefined || spec?.hostPath !== undefined;
}
