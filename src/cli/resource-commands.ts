// The commands that all resources of the API share: list, show, delete. A `ResourceSpec` says what differs; further commands are in
// the resource's own file.
import { Command } from 'commander';
import { withAction, addExamples, type Cli } from './command.ts';
import { relativeTime } from './output/duration.ts';
import { EXIT, NothingSaid, type ExitCode } from './exit-code.ts';
import { showPages } from './output/list-output.ts';
import { ApiRefusal } from './client/problem.ts';
import type { LabelledFacts, Session } from './session.ts';
import type { TableColumn } from './output/table.ts';
import type { Site } from './client/representations.ts';

export interface ResourceSpec<R> {
  /** The name of the command, in the plural: `flavors`. */
  readonly command: string;
  /** For sentences: `flavor`. */
  readonly kind: string;
  readonly path: string;
  /** What identifies one, when that is not its name. */
  readonly by?: 'id';
  /** One that appears in examples. */
  readonly sample: string;
  readonly columns: (nowMs: number) => readonly TableColumn<R>[];
  readonly facts: (one: R, nowMs: number) => LabelledFacts;
}

/** An option of a list; its name is the API's filter: `--created-by` requests `createdBy`. */
export type ListFilter = readonly [flags: string, about: string];

export interface ResourceListOptions {
  readonly filters?: readonly ListFilter[];
  /** Printed when there are none. */
  readonly empty: string;
  readonly examples?: readonly (readonly [what: string, line: string])[];
}

export function resourcePath<R>({ path }: Pick<ResourceSpec<R>, 'path'>, name: string): string {
  return `${path}/${encodeURIComponent(name)}`;
}

export function listCommand<R>(
  cli: Cli,
  resource: ResourceSpec<R>,
  { filters = [], empty, ...rest }: ResourceListOptions,
): Command {
  const { command: word, kind, path, columns } = resource;
  const command = new Command('list').alias('ls').description(`List ${word.replaceAll('-', ' ')}`);
  for (const [flags, about] of filters) command.option(flags, about);
  command.option('--sort <field>', 'by this field; a leading - turns the order round');
  const names = command.options.map((option) => option.attributeName());
  addExamples(command, [`every ${kind}`, `muster ${word} list`], ...(rest.examples ?? []));
  return withAction<Readonly<Record<string, string | undefined>>>(cli, command, async (session, { options }) => {
    const query = Object.fromEntries(names.map((name) => [name, options[name]]));
    const listed = {
      columns: columns(session.nowMs()),
      empty: isFiltered(query) ? noneMatch(word) : empty,
      what: word,
    };
    await showPages(session, session.client.pages<R>(path, query), listed);
    return undefined;
  });
}

/** Whether a filter was given: an empty result then does not mean that there are none. */
export function isFiltered({ sort: _, ...filters }: Readonly<Record<string, unknown>>): boolean {
  return Object.values(filters).some((filter) => filter !== undefined);
}

export function noneMatch(word: string): string {
  return `No ${word.replaceAll('-', ' ')} match these filters.`;
}

export function showCommand<R extends object>(cli: Cli, resource: ResourceSpec<R>): Command {
  const { command: word, kind, by = 'name', sample, facts } = resource;
  const command = new Command('show').description(`Show everything known of a ${kind}`).argument(`<${by}>`);
  addExamples(command, [`one ${kind}`, `muster ${word} show ${sample}`]);
  return withAction(cli, command, async (session, { args: [name = ''] }) => {
    const one = await session.client.get<R>(resourcePath(resource, name));
    await session.writeOne(one, facts(one, session.nowMs()));
    return undefined;
  });
}

/** Creates one, and reports it. */
export async function createOne<R extends object>(
  session: Session,
  { path }: ResourceSpec<R>,
  { body, sentence }: { readonly body: object; readonly sentence: (one: R) => string },
): Promise<undefined> {
  const one = await session.client.write<R>('POST', path, { body });
  await session.reportDone(one, sentence(one));
}

/** Changes the given fields of one, and shows it as it is then. */
export async function editOne<R extends object>(
  session: Session,
  resource: ResourceSpec<R>,
  { name, body }: { readonly name: string; readonly body: object },
): Promise<undefined> {
  if (Object.keys(body).length === 0) throw new NothingSaid('change');
  const one = await session.client.write<R>('PATCH', resourcePath(resource, name), { body });
  await session.writeOne(one, resource.facts(one, session.nowMs()));
}

export function deleteCommand<R>(cli: Cli, resource: ResourceSpec<R>, about: string): Command {
  const { command: word, kind, by = 'name', sample } = resource;
  const command = new Command('delete').description(about).argument(`<${by}s...>`);
  addExamples(command, [`one ${kind}`, `muster ${word} delete ${sample}`]);
  return withAction(cli, command, (session, { args }) =>
    forEachName(session, args, async (name) => {
      const value = await session.client.write<{ readonly operation?: string }>('DELETE', resourcePath(resource, name));
      return { value, sentence: `${capital(kind)} ${name} ${deletionText(value)}` };
    }),
  );
}

/** What a back end has too is deleted when the back end has deleted it. */
function deletionText({ operation }: { readonly operation?: string }): string {
  if (operation === undefined) return 'is deleted.';
  return `goes when its back end has deleted it. Follow it with: muster operations wait ${operation}`;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

interface EachResult {
  readonly value: object;
  readonly sentence: string;
}

/** Does the same for each name; a refusal for one does not stop the others. */
export async function forEachName(
  session: Session,
  names: readonly string[],
  work: (name: string) => Promise<EachResult>,
): Promise<ExitCode> {
  const values: object[] = [];
  for (const name of names) {
    try {
      const { value, sentence } = await work(name);
      values.push(value);
      if (session.output === 'table') session.terminal.out(`${sentence}\n`);
    } catch (error) {
      if (!(error instanceof ApiRefusal) || names.length === 1) throw error;
      session.note(error.message);
    }
  }
  if (session.output !== 'table') await session.writeValue(names.length === 1 ? values[0] : values);
  return values.length === names.length ? EXIT.ok : EXIT.refused;
}

/** What every representation says about its last change. */
type ChangeInfo = Pick<Site, 'revision' | 'changedBy' | 'changedAtMs'>;

export function listChangedFacts({ changedBy, changedAtMs, revision }: ChangeInfo, nowMs: number): LabelledFacts {
  return [
    ['Changed', `${relativeTime(changedAtMs, nowMs)} by ${changedBy}`],
    ['Revision', String(revision)],
  ];
}

/** A list as a cell; one that is empty is not shown. */
export function listText(list: readonly string[] = []): string | undefined {
  return list.length === 0 ? undefined : list.join(', ');
}
