// The contract suite of cluster APIs: every implementation passes all of it, against nodes and pods that the harness makes.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ClusterCallOptions, ClusterApi, ClusterNode, WatchedChange, WatchedKind } from './cluster-api.ts';

export interface WantedPods {
  readonly name: string;
  readonly replicas: number;
  readonly minAvailable?: number;
  readonly hasSecondBudget?: true;
  readonly hasEmptyDir?: true;
}

/** A cluster of the suite's own, or a part of one that nothing else uses. */
export interface ClusterHarness {
  readonly api: ClusterApi;
  /** Two nodes that take pods; nothing but the suite's pods is on them. */
  readonly nodes: readonly [string, string];
  /** Makes pods that are ready, and a budget over them. */
  deploy(pods: WantedPods): Promise<void>;
  /** Lets time pass until this holds. */
  until(what: string, holds: () => Promise<boolean>): Promise<void>;
  close(): Promise<void>;
}

const HOW: ClusterCallOptions = { signal: new AbortController().signal };

export function describeClusterApi(name: string, start: () => Promise<ClusterHarness>, timeoutMs = 10_000): void {
  describe(`cluster API: ${name}`, { timeout: timeoutMs }, () => {
    let harness: ClusterHarness;
    beforeEach(async () => {
      harness = await start();
    }, timeoutMs);
    afterEach(() => harness.close());

    const nodeNamed = async (wanted: string): Promise<ClusterNode> => {
      const node = await harness.api.readNode(wanted, HOW);
      if (node === undefined) throw new Error(`there is no Node ${wanted}`);
      return node;
    };
    /** On either node. */
    const firstPod = async () => (await Promise.all(harness.nodes.map(podsOn))).flat()[0];
    const watch = (what: WatchedKind) => {
      const seen: WatchedChange[] = [];
      const stop = new AbortController();
      const watching = harness.api.watch(what, (change) => void seen.push(change), { signal: stop.signal });
      const ended = watching.catch((error: unknown) => error);
      const end = async (): Promise<void> => {
        stop.abort(new Error('told to end'));
        expect(await ended).toMatchObject({ message: 'told to end' });
      };
      return { seen, end };
    };
    const podsOn = async (node: string) => (await harness.api.readContents(node, HOW)).pods;

    test('lists and reads nodes; one that is not there is no error', async () => {
      const listed = await harness.api.listNodes(HOW);
      expect(listed.map((node) => node.name)).toEqual(expect.arrayContaining([...harness.nodes]));
      expect(await nodeNamed(harness.nodes[0])).toMatchObject({ readiness: 'ready', isUnschedulable: false });
      expect(await harness.api.readNode('no-such-node', HOW)).toBeUndefined();
    });

    test('marks are set and removed one by one; repeating it is no error', async () => {
      const node = await nodeNamed(harness.nodes[0]);
      const marks = { isUnschedulable: true, isExcludedFromLoadBalancers: true };
      await harness.api.markNode(node, marks, HOW);
      await harness.api.markNode(node, marks, HOW);
      expect(await nodeNamed(node.name)).toMatchObject(marks);
      await harness.api.markNode(node, { isUnschedulable: false }, HOW);
      expect(await nodeNamed(node.name)).toMatchObject({ isUnschedulable: false, isExcludedFromLoadBalancers: true });
      await harness.api.markNode(node, { isExcludedFromLoadBalancers: false }, HOW);
      expect(await nodeNamed(node.name)).toMatchObject({ isExcludedFromLoadBalancers: false });
    });

    test('a-node-with-another-uid-is-neither-marked-nor-deleted', async () => {
      const node = await nodeNamed(harness.nodes[0]);
      const other = { name: node.name, uid: '00000000-0000-4000-8000-000000000000' };
      expect(await harness.api.markNode(other, { isUnschedulable: true }, HOW)).toBeUndefined();
      expect(await harness.api.deleteNode(other, HOW)).toBe('gone');
      expect(await nodeNamed(node.name)).toMatchObject({ uid: node.uid, isUnschedulable: false });
    });

    test('an-evicted-pod-is-terminating-or-gone, and made again elsewhere when its node is cordoned', async () => {
      const [first, second] = harness.nodes;
      await harness.deploy({ name: 'web', replicas: 4 });
      await harness.api.markNode(await nodeNamed(first), { isUnschedulable: true }, HOW);
      for (const { namespace, name: pod, uid } of await podsOn(first))
        expect(await harness.api.evict({ namespace, name: pod, uid }, HOW)).toEqual({ kind: 'accepted' });
      await harness.until('the node is empty', async () => (await podsOn(first)).length === 0);
      await harness.until('they run elsewhere', async () => (await podsOn(second)).length === 4);
    });

    test('a-pod-with-another-uid-is-not-evicted', async () => {
      await harness.deploy({ name: 'web', replicas: 2 });
      const pod = await firstPod();
      const { namespace = '', name: podName = '' } = pod ?? {};
      const uid = '00000000-0000-4000-8000-000000000000';
      expect(await harness.api.evict({ namespace, name: podName, uid }, HOW)).toEqual({ kind: 'gone' });
      expect(await harness.api.evict({ namespace, name: 'no-such-pod', uid }, HOW)).toEqual({ kind: 'gone' });
      expect(await firstPod()).toMatchObject({ name: podName, isTerminating: false });
    });

    test('a-budget-refuses, and is named', async () => {
      await harness.deploy({ name: 'web', replicas: 2, minAvailable: 2 });
      const pod = await firstPod();
      const { namespace = '', name: podName = '', uid = '' } = pod ?? {};
      const answer = await harness.api.evict({ namespace, name: podName, uid }, HOW);
      expect(answer).toMatchObject({ kind: 'budget' });
      const budgets = (await Promise.all(harness.nodes.map((node) => harness.api.readContents(node, HOW)))).flatMap(
        (contents) => (contents.pods.length > 0 && contents.budgets !== 'unknown' ? contents.budgets : []),
      );
      expect(budgets).toContainEqual(expect.objectContaining({ name: 'web', disruptionsAllowed: 0 }));
    });

    test('two-budgets-on-one-pod-are-distinguished-from-one', async () => {
      await harness.deploy({ name: 'web', replicas: 2, minAvailable: 0, hasSecondBudget: true });
      const pod = await firstPod();
      const { namespace = '', name: podName = '', uid = '' } = pod ?? {};
      expect(await harness.api.evict({ namespace, name: podName, uid }, HOW)).toMatchObject({ kind: 'two-budgets' });
    });

    test('shows owners and volumes of pods', async () => {
      await harness.deploy({ name: 'web', replicas: 2, hasEmptyDir: true });
      const pod = await firstPod();
      expect(pod).toMatchObject({ hasEmptyDir: true, isMirror: false, isFinished: false, isTerminating: false });
      expect(pod?.owner?.kind).toBe('ReplicaSet');
    });

    test('a-deleted-node-is-gone; deleting it again is no error', async () => {
      const node = await nodeNamed(harness.nodes[1]);
      expect(await harness.api.deleteNode(node, HOW)).toBe('deleted');
      expect(await harness.api.readNode(node.name, HOW)).toBeUndefined();
      expect(await harness.api.deleteNode(node, HOW)).toBe('gone');
    });

    test('tokens-are-made-and-revoked, each call repeatable', async () => {
      const token = { id: 'abcdef', secret: '0123456789abcdef', expiresAtMs: 4_000_000_000_000, about: 'the suite' };
      await harness.api.createBootstrapToken(token, HOW);
      await harness.api.createBootstrapToken(token, HOW);
      await harness.api.revokeBootstrapToken(token.id, HOW);
      await harness.api.revokeBootstrapToken(token.id, HOW);
    });

    test('a-heartbeat-registers-a-node, once', async () => {
      const registration = { name: 'joined-node', providerId: 'muster:///joined-node' };
      const first = await harness.api.heartbeatNode(registration, HOW);
      const second = await harness.api.heartbeatNode(registration, HOW);
      expect(second).toMatchObject({ name: 'joined-node', uid: first.uid, readiness: 'ready' });
      await harness.api.deleteNode(first, HOW);
    });

    test('a-watch-shows-which-node-has-changed, until it is ended', async () => {
      const watched = watch('nodes');
      const node = await nodeNamed(harness.nodes[0]);
      let isUnschedulable = false;
      await harness.until('the change is seen', async () => {
        isUnschedulable = !isUnschedulable;
        await harness.api.markNode(node, { isUnschedulable }, HOW);
        return watched.seen.some((change) => change.kind === 'node' && change.node === node.name);
      });
      expect(watched.seen.filter(({ kind }) => kind !== 'node')).toEqual([]);
      await watched.end();
      const { length } = watched.seen;
      await harness.api.markNode(node, { isUnschedulable: !isUnschedulable }, HOW);
      expect((await nodeNamed(node.name)).isUnschedulable).toBe(!isUnschedulable);
      expect(watched.seen).toHaveLength(length);
    });

    test('a-watch-shows-where-pods-have-changed', async () => {
      await harness.deploy({ name: 'web', replicas: 4 });
      const watched = watch('pods');
      const [first] = harness.nodes;
      await harness.until('an eviction is seen', async () => {
        const [pod] = await podsOn(first);
        if (pod !== undefined) await harness.api.evict(pod, HOW);
        return watched.seen.some((change) => change.kind === 'pod' && change.node === first);
      });
      expect(watched.seen.every(({ kind }) => kind === 'pod')).toBe(true);
      await watched.end();
    });

    test('a-watch-that-is-ended-before-it-begins-shows-nothing', async () => {
      const aborted = { signal: AbortSignal.abort(new Error('told to end')) };
      const watching = harness.api.watch('nodes', () => expect.fail('it was told to end'), aborted);
      await expect(watching).rejects.toThrow('told to end');
    });

    test('an-aborted-call-has-no-effect', async () => {
      const node = await nodeNamed(harness.nodes[0]);
      const aborted = { signal: AbortSignal.abort() };
      await expect(harness.api.markNode(node, { isUnschedulable: true }, aborted)).rejects.toThrow();
      expect(await nodeNamed(node.name)).toMatchObject({ isUnschedulable: false });
    });
  });
}
