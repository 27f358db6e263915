// The API of a real cluster, through the official client. Only nodes, pods and evictions are required: whatever else the cluster does not have, or does not let
// Muster see, is `unknown`.
import type {
  BootstrapToken,
  ClusterCallOptions,
  ClusterApi,
  ClusterFacts,
  ClusterNode,
  EvictionAnswer,
  NodeContents,
  NodeMarks,
  NodeRef,
  NodeRegistration,
  PodEviction,
  WatchedChange,
  WatchedKind,
} from '../cluster-api.ts';
import type { ClusterAccess } from './access.ts';
import { readAnswer, readItems } from './answers.ts';
import { BootstrapTokens } from './bootstrap-tokens-driver.ts';
import { ClusterConnection } from './connection-driver.ts';
import { evictionAnswerOf, type ApiStatus } from './errors.ts';
import { readClusterFacts } from './facts-driver.ts';
import { KubeletStandIn } from './kubelet-driver.ts';
import { isNotShown } from './not-shown.ts';
import { describeNode, describePod, EXCLUDE_LABEL } from './objects.ts';
import { isExpired, pageOf, readPages } from './pages.ts';
import { readBudgets, readLocalVolumes } from './pod-limits-driver.ts';
import { watchObjects } from './watch-driver.ts';

const MERGE_PATCH = 'application/strategic-merge-patch+json';

export class ApiClient implements ClusterApi {
  readonly #access: ClusterAccess;
  #connection: Promise<ClusterConnection> | undefined;

  constructor(access: ClusterAccess) {
    this.#access = access;
  }

  async readFacts(how: ClusterCallOptions): Promise<ClusterFacts> {
    return readClusterFacts(await this.#connect(), this.#access, how);
  }

  async listNodes(how: ClusterCallOptions): Promise<readonly ClusterNode[]> {
    const connection = await this.#connect();
    const core = connection.group(connection.client.CoreV1Api);
    return readPages(async (page) => {
      const list = await connection.attempt(how, (options) => core.listNode(page, options), isExpired);
      return 'means' in list ? list.means : pageOf(list, describeNode);
    });
  }

  async readNode(name: string, how: ClusterCallOptions): Promise<ClusterNode | undefined> {
    const connection = await this.#connect();
    const core = connection.group(connection.client.CoreV1Api);
    const node = await connection.attempt(how, (options) => core.readNode({ name }, options), isMissing);
    return 'means' in node ? undefined : readAnswer(() => describeNode(node));
  }

  /** The UID in the change has the API refuse it for another Node of that name. */
  async markNode({ name, uid }: NodeRef, marks: NodeMarks, how: ClusterCallOptions): Promise<ClusterNode | undefined> {
    const connection = await this.#connect();
    const core = connection.group(connection.client.CoreV1Api);
    const body = composeMarks(uid, marks);
    const send = (options: Parameters<typeof core.patchNode>[1]) => core.patchNode({ name, body }, options);
    const node = await connection.attempt(how, send, isMissingOrOther, MERGE_PATCH);
    return 'means' in node ? undefined : readAnswer(() => describeNode(node));
  }

  async deleteNode({ name, uid }: NodeRef, how: ClusterCallOptions): Promise<'deleted' | 'gone'> {
    const connection = await this.#connect();
    const core = connection.group(connection.client.CoreV1Api);
    const body = { preconditions: { uid } };
    const done = await connection.attempt(how, (options) => core.deleteNode({ name, body }, options), isMissingOrOther);
    return 'means' in done ? 'gone' : 'deleted';
  }

  async readContents(node: string, how: ClusterCallOptions): Promise<NodeContents> {
    const connection = await this.#connect();
    const core = connection.group(connection.client.CoreV1Api);
    const fieldSelector = `spec.nodeName=${node}`;
    const pods = await readPages(async (page) => {
      const query = { ...page, fieldSelector };
      const list = await connection.attempt(how, (options) => core.listPodForAllNamespaces(query, options), isExpired);
      return 'means' in list ? list.means : pageOf(list, describePod);
    });
    const [found, budgets, localVolumes] = await Promise.all([
      this.readNode(node, how),
      readBudgets(connection, pods, how),
      readLocalVolumes(connection, pods, how),
    ]);
    return { node: found, pods, budgets, localVolumes };
  }

  /** The eviction names no version: one that the cluster does not know would be refused. */
  async evict({ namespace, name, uid, graceSeconds }: PodEviction, how: ClusterCallOptions): Promise<EvictionAnswer> {
    const connection = await this.#connect();
    const core = connection.group(connection.client.CoreV1Api);
    const deleteOptions = {
      preconditions: { uid },
      ...(graceSeconds !== undefined && { gracePeriodSeconds: graceSeconds }),
    };
    const body = { metadata: { namespace, name }, deleteOptions };
    const send = (options: Parameters<typeof core.createNamespacedPodEviction>[1]) =>
      core.createNamespacedPodEviction({ namespace, name, body }, options);
    const answer = await connection.attempt(how, send, evictionAnswerOf);
    return 'means' in answer ? answer.means : { kind: 'accepted' };
  }

  async countVolumeAttachments(node: string, how: ClusterCallOptions): Promise<number | 'unknown'> {
    const connection = await this.#connect();
    const storage = connection.group(connection.client.StorageV1Api);
    const attached = await connection.attempt(how, (options) => storage.listVolumeAttachment({}, options), isNotShown);
    if ('means' in attached) return 'unknown';
    return readAnswer(() => readItems(attached.items).filter(({ spec }) => spec.nodeName === node).length);
  }

  async createBootstrapToken(token: BootstrapToken, how: ClusterCallOptions): Promise<void> {
    await new BootstrapTokens(await this.#connect()).create(token, how);
  }

  async revokeBootstrapToken(id: string, how: ClusterCallOptions): Promise<void> {
    await new BootstrapTokens(await this.#connect()).revoke(id, how);
  }

  async heartbeatNode(node: NodeRegistration, how: ClusterCallOptions): Promise<ClusterNode> {
    return new KubeletStandIn(await this.#connect()).heartbeat(node, how);
  }

  async watch(what: WatchedKind, onChange: (change: WatchedChange) => void, how: ClusterCallOptions): Promise<void> {
    await watchObjects(await this.#connect(), { what, onChange, how });
  }

  #connect(): Promise<ClusterConnection> {
    this.#connection ??= ClusterConnection.open(this.#access);
    return this.#connection;
  }
}

function composeMarks(uid: string, { isUnschedulable, isExcludedFromLoadBalancers: excluded }: NodeMarks): object {
  return {
    metadata: { uid, ...(excluded !== undefined && { labels: { [EXCLUDE_LABEL]: excluded ? 'true' : null } }) },
    ...(isUnschedulable !== undefined && { spec: { unschedulable: isUnschedulable ? true : null } }),
  };
}

function isMissing({ code }: ApiStatus): true | undefined {
  return code === 404 ? true : undefined;
}

/** Another UID is a conflict for a deletion, and an invalid change for a patch. */
function isMissingOrOther({ code, message }: ApiStatus): true | undefined {
  const isOther = code === 409 || (code === 422 && message.includes('uid'));
  return code === 404 || isOther ? true : undefined;
}
