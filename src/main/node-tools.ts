// muster dataplane diff and trace: compares the switch of this machine with the last view of its agent. Nothing is changed, and no server
// is contacted.
import { AgentStateStore, type FileName } from '../agent/runtime.ts';
import { DiskFailed } from '../link/index.ts';
import { FileDisk } from '../link/runtime.ts';
import { EXIT, CommandFailure, type NodeTools, type SwitchOptions } from '../cli/index.ts';
import {
  annotateTrace,
  compareContents,
  compile,
  readDataplaneView,
  interfaceOf,
  NEXT_HOPS_BY_NAME,
  findStrayPorts,
  SwitchDown,
  SwitchRefused,
  EMPTY_COMPILE_RESULT,
} from '../dataplane/index.ts';
import type { OvsSwitch } from '../dataplane/runtime.ts';
import type { Log } from '../journal/index.ts';
import { SwitchNotRunning, openSwitch } from './ovs-node.ts';
import { StartFailure } from './start-failure.ts';

interface DesiredSwitch {
  readonly host: string;
  readonly compiled: ReturnType<typeof compile>;
  /** The interfaces of the instances in the view. */
  readonly explained: ReadonlySet<string>;
}

export const compareSwitch: NodeTools['compareSwitch'] = async (request) => {
  const { host, compiled, explained } = await readDesiredSwitch(request.state);
  return withSwitch(request, async (ovs) => {
    const [read, interfaces] = [await ovs.read(), await ovs.interfaces()];
    return { host, ...compareContents(compiled, read, findStrayPorts({ interfaces, flows: read.flows }, explained)) };
  });
};

export const tracePacket: NodeTools['tracePacket'] = async (request) => {
  const { compiled } = await readDesiredSwitch(request.state);
  return annotateTrace(await withSwitch(request, (ovs) => ovs.trace(request.flow)), compiled);
};

const ignore = (): void => undefined;
/** What the store warns of is in its problems. */
const QUIET: Log = { info: ignore, warn: ignore, error: ignore };

/** The agent's desired state: its last view, or nothing at all once it was ordered to leave. */
async function readDesiredSwitch(folder: string): Promise<DesiredSwitch> {
  const store = new AgentStateStore(new FileDisk<FileName>(folder, 'agent'), QUIET);
  try {
    const [taken, { identity }] = [await store.readView(), await store.readIdentity()];
    const { problems } = store;
    if (taken === undefined) {
      const why = problems.length === 0 ? '' : ` (${problems.join('; ')})`;
      throw new CommandFailure(
        EXIT.unreachable,
        `There is no view in ${folder} yet${why}. Name the folder of the agent with --state, or let it join first.`,
      );
    }
    const { host, parts } = taken.view;
    if (identity.leaving !== undefined || identity.left === true)
      return { host, compiled: EMPTY_COMPILE_RESULT, explained: new Set() };
    const view = readDataplaneView(host, parts);
    if (view !== undefined) {
      const explained = new Set(view.ports.map(({ id }) => interfaceOf(id)));
      return { host, compiled: compile(view, NEXT_HOPS_BY_NAME), explained };
    }
    throw new CommandFailure(
      EXIT.unreachable,
      `The last view of ${host} has no parts for its switch: its server is older.`,
    );
  } catch (error) {
    if (error instanceof DiskFailed) throw new CommandFailure(EXIT.unreachable, `${error.message}.`, { cause: error });
    throw error;
  }
}

async function withSwitch<T>(request: SwitchOptions, work: (ovs: OvsSwitch) => Promise<T>): Promise<T> {
  let ovs: OvsSwitch | undefined;
  try {
    ovs = openSwitch({ ...request, database: request.ovs, readOnly: true });
    return await work(ovs);
  } catch (error) {
    if (error instanceof StartFailure) {
      const code = error instanceof SwitchNotRunning ? EXIT.unreachable : EXIT.usage;
      throw new CommandFailure(code, error.message, { cause: error });
    }
    if (error instanceof SwitchRefused) {
      throw new CommandFailure(EXIT.usage, `The switch refuses the packet: ${error.message}.`, { cause: error });
    }
    if (error instanceof SwitchDown) {
      throw new CommandFailure(EXIT.unreachable, `The switch at ${request.ovs} cannot be read: ${error.message}.`, {
        cause: error,
      });
    }
    throw error;
  } finally {
    await ovs?.close();
  }
}
