// Everything that one module does on hosts, as one value. Agents fold a list of them, as servers fold one of `Module`. It is another value in
// another file: an agent does not load what only a server needs.
import type { Clock } from '../journal/index.ts';
import type { TaskHandler, TaskHandlers } from '../operations/index.ts';
import { BadComposition } from './compose.ts';

export interface NodeModule {
  /** The name of its folder. */
  readonly name: string;
  /** Made once in each agent. */
  readonly taskHandlers: (environment: NodeEnvironment) => TaskHandlers;
}

/** What handlers may use of the agent that they are in. */
export interface NodeEnvironment {
  readonly clock: Clock;
}

/** The handlers of all modules, by the kind of tasks. It refuses two for one kind: which of them is called would be chance. */
export function composeTaskHandlers(
  modules: readonly NodeModule[],
  environment: NodeEnvironment,
): ReadonlyMap<string, TaskHandler> {
  const made = modules.flatMap(({ name, taskHandlers }) =>
    Object.entries(taskHandlers(environment)).map(([kind, handler]) => ({ kind, handler, module: name })),
  );
  const byKind = Map.groupBy(made, ({ kind }) => kind);
  const problems = [...byKind].flatMap(([kind, all]) =>
    all.length === 1 ? [] : [`tasks of kind ${kind} are handled by ${all.map(({ module }) => module).join(' and ')}`],
  );
  if (problems.length > 0) throw new BadComposition(problems);
  return new Map(made.map(({ kind, handler }) => [kind, handler]));
}
