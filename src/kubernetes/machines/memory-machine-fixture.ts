// A machine in memory, for tests of what is done with the machines of workers: it joins by registering its Node, and can be away or fail.
import type { ClusterApi, ClusterCallOptions } from '../cluster-api/cluster-api.ts';
import type { ContactAnswer, JoinCall, Reach, ReachAnswer } from './reach.ts';

export type MachineTrouble = 'unreachable' | 'cut-off' | 'fails' | 'wrong-host-key';

export class MemoryMachine implements Reach {
  /** The Nodes that it is, or would be. */
  readonly joined = new Set<string>();
  /** In their order; also those that ended badly, and none that was not begun. */
  readonly passes: string[] = [];
  trouble: MachineTrouble | undefined;
  readonly #api: ClusterApi;

  constructor(api: ClusterApi) {
    this.#api = api;
  }

  async contact({ signal }: ClusterCallOptions): Promise<ContactAnswer> {
    signal.throwIfAborted();
    return { kind: 'contacted' };
  }

  async join({ node, providerId }: JoinCall, how: ClusterCallOptions): Promise<ReachAnswer> {
    return this.#run(`join ${node}`, how, async () => {
      await this.#api.heartbeatNode({ name: node, providerId }, how);
      this.joined.add(node);
    });
  }

  async leave({ node }: { readonly node: string }, how: ClusterCallOptions): Promise<ReachAnswer> {
    return this.#run(`leave ${node}`, how, async () => void this.joined.delete(node));
  }

  async #run(pass: string, { signal }: ClusterCallOptions, act: () => Promise<void>): Promise<ReachAnswer> {
    signal.throwIfAborted();
    if (this.trouble === 'unreachable') return { kind: 'unreachable', text: 'no answer' };
    if (this.trouble === 'wrong-host-key') return { kind: 'wrong-host-key', expected: 'SHA256:a', found: 'SHA256:b' };
    this.passes.push(pass);
    const output = { text: 'begun\nerror: it is stuck\nsee the manual\n', isCut: false };
    if (this.trouble === 'cut-off') return { kind: 'cut-off', text: 'the connection was lost', output };
    if (this.trouble === 'fails') return { kind: 'ended', exitCode: 7, output };
    await act();
    return { kind: 'ended', exitCode: 0, output: { text: 'done\n', isCut: false } };
  }
}
