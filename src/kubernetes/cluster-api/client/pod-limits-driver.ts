// What limits the eviction of pods: budgets, by the version of their API that the cluster has, and volumes that are on one node alone.
import type { V1PodDisruptionBudget } from '@kubernetes/client-node';
import type { Budget, ClusterCallOptions, LocalVolume, Pod } from '../cluster-api.ts';
import type { ClusterConnection } from './connection-driver.ts';
import { readAnswer, readItems, readNameIfAny } from './answers.ts';
import { isNotShown } from './not-shown.ts';
import { describeBudget, isLocalVolume } from './objects.ts';

/** The newest first. The client's own group knows v1 alone. */
const POLICY_VERSIONS = ['v1', 'v1beta1'];

interface BudgetList {
  readonly items: readonly V1PodDisruptionBudget[];
}

export async function readBudgets(
  connection: ClusterConnection,
  pods: readonly Pod[],
  how: ClusterCallOptions,
): Promise<readonly Budget[] | 'unknown'> {
  if (pods.length === 0) return [];
  const objects = connection.group(connection.client.CustomObjectsApi);
  for (const version of POLICY_VERSIONS) {
    const wanted = { group: 'policy', version, resourcePlural: 'poddisruptionbudgets' };
    const list = await connection.attempt(
      how,
      async (options) => objects.listCustomObjectForAllNamespaces(wanted, options) as Promise<BudgetList>,
      isNotShown,
    );
    if (!('means' in list)) return readAnswer(() => readItems(list.items).map(describeBudget));
  }
  return 'unknown';
}

export async function readLocalVolumes(
  connection: ClusterConnection,
  pods: readonly Pod[],
  how: ClusterCallOptions,
): Promise<readonly LocalVolume[] | 'unknown'> {
  const local: LocalVolume[] = [];
  for (const { namespace, claims } of pods) {
    for (const claim of claims) {
      const volume = await readVolumeOf(connection, { namespace, claim }, how);
      if (volume === 'unknown') return 'unknown';
      if (volume !== undefined) local.push(volume);
    }
  }
  return local;
}

async function readVolumeOf(
  connection: ClusterConnection,
  { namespace, claim: name }: { readonly namespace: string; readonly claim: string },
  how: ClusterCallOptions,
): Promise<LocalVolume | 'unknown' | undefined> {
  const core = connection.group(connection.client.CoreV1Api);
  const claim = await connection.attempt(
    how,
    (options) => core.readNamespacedPersistentVolumeClaim({ namespace, name }, options),
    isNotShown,
  );
  if ('means' in claim) return 'unknown';
  const volumeName = readAnswer(() => readNameIfAny(claim.spec?.volumeName));
  if (volumeName === '') return undefined;
  const volume = await connection.attempt(
    how,
    (options) => core.readPersistentVolume({ name: volumeName }, options),
    isNotShown,
  );
  if ('means' in volume) return 'unknown';
  return readAnswer(() => isLocalVolume(volume)) ? { namespace, claim: name, volume: volumeName } : undefined;
}
