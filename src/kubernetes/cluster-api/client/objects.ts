// What the objects of a real cluster mean for the port. Fields that are missing are as Kubernetes defaults them.
import type {
  V1LabelSelector,
  V1Node,
  V1PersistentVolume,
  V1Pod,
  V1PodDisruptionBudget,
} from '@kubernetes/client-node';
import { readCount, readList, readMap, readName, readNameIfAny, readText, readUid } from './answers.ts';
import type { Budget, ClusterNode, LabelRequirement, LabelSelector, Pod } from '../cluster-api.ts';

/** Load balancers outside the cluster leave a Node with this label alone. */
export const EXCLUDE_LABEL = 'node.kubernetes.io/exclude-from-external-load-balancers';

const CONTROL_PLANE_LABELS = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
const DEFAULT_GRACE_SECONDS = 30;
/** Of what a Node says of itself. */
const SHOWN_MAX = 300;

export function describeNode(node: V1Node): ClusterNode {
  const [metadata, spec, status] = [node.metadata ?? {}, node.spec ?? {}, node.status ?? {}];
  const labels = readMap(metadata.labels);
  const ready = readList(status.conditions).find(({ type }) => type === 'Ready')?.status;
  const providerId = readText(spec.providerID, SHOWN_MAX);
  const kubeletVersion = readText(status.nodeInfo?.kubeletVersion, SHOWN_MAX);
  return {
    name: readName(metadata.name),
    uid: readUid(metadata.uid),
    resourceVersion: readNameIfAny(metadata.resourceVersion),
    readiness: ready === 'True' ? 'ready' : ready === 'False' ? 'not-ready' : 'unknown',
    isUnschedulable: spec.unschedulable === true,
    isExcludedFromLoadBalancers: Object.hasOwn(labels, EXCLUDE_LABEL),
    isControlPlane: CONTROL_PLANE_LABELS.some((label) => Object.hasOwn(labels, label)),
    ...(providerId !== undefined && { providerId }),
    ...(kubeletVersion !== undefined && { kubeletVersion }),
    createdAtMs: metadata.creationTimestamp?.getTime() ?? 0,
  };
}

export function describePod(pod: V1Pod): Pod {
  const [metadata, status] = [pod.metadata ?? {}, pod.status ?? {}];
  const owner = readList(metadata.ownerReferences).find(({ controller }) => controller === true);
  const volumes = readList(pod.spec?.volumes);
  return {
    namespace: readName(metadata.namespace),
    name: readName(metadata.name),
    uid: readUid(metadata.uid),
    labels: readMap(metadata.labels),
    ...(owner !== undefined && {
      owner: { kind: readName(owner.kind), name: readName(owner.name), uid: readUid(owner.uid) },
    }),
    isMirror: Object.hasOwn(readMap(metadata.annotations), MIRROR_ANNOTATION),
    isFinished: status.phase === 'Succeeded' || status.phase === 'Failed',
    isTerminating: (metadata.deletionTimestamp ?? undefined) !== undefined,
    isReady: readList(status.conditions).some(({ type, status: is }) => type === 'Ready' && is === 'True'),
    graceSeconds: readCount(pod.spec?.terminationGracePeriodSeconds, DEFAULT_GRACE_SECONDS),
    hasEmptyDir: volumes.some(({ emptyDir }) => (emptyDir ?? undefined) !== undefined),
    claims: volumes.flatMap(({ persistentVolumeClaim: claim }) =>
      claim?.claimName ? [readName(claim.claimName)] : [],
    ),
  };
}

export function describeBudget(budget: V1PodDisruptionBudget): Budget {
  const { metadata, spec, status } = budget;
  return {
    namespace: readName(metadata?.namespace),
    name: readName(metadata?.name),
    ...(spec?.selector && { selector: describeSelector(spec.selector) }),
    disruptionsAllowed: readCount(status?.disruptionsAllowed, 0),
  };
}

function describeSelector({ matchLabels, matchExpressions }: V1LabelSelector): LabelSelector {
  return {
    matchLabels: readMap(matchLabels),
    matchExpressions: readList(matchExpressions).map(({ key, operator, values }) => ({
      key,
      operator: operator as LabelRequirement['operator'],
      values: [...readList(values)],
    })),
  };
}

/** Its data is on one node, whatever its pod does. */
export function isLocalVolume({ spec }: V1PersistentVolume): boolean {
  return (spec?.local ?? spec?.hostPath ?? undefined) !== undefined;
}
