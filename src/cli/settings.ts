// muster settings: values that operators may change while the system runs.
import { Command } from 'commander';
import { withAction, addExamples, commandGroup, type Cli } from './command.ts';
import { relativeTime } from './output/duration.ts';
import { usage } from './exit-code.ts';
import { readInput, readValue } from './input/input-file.ts';
import type { LabelledFacts } from './session.ts';
import type { TableColumn } from './output/table.ts';
import type { Setting } from './client/representations.ts';

const SETTINGS = '/api/v1/settings';
const settingPath = (name: string): string => `${SETTINGS}/${encodeURIComponent(name)}`;

export function settingsCommand(cli: Cli): Command {
  return commandGroup(
    'settings',
    'Values that may be changed while the system runs',
    listSettings(cli),
    showSetting(cli),
    setSetting(cli),
    resetSetting(cli),
  );
}

const COLUMNS: readonly TableColumn<Setting>[] = [
  { title: 'name', of: (one) => one.name, colour: 'bold' },
  { title: 'value', of: (one) => short(one.value) },
  { title: 'from', of: (one) => one.changedBy ?? 'default' },
];

function short(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, part]) => `${name}=${JSON.stringify(part)}`)
    .join(' ');
}

function facts(one: Setting, nowMs: number): LabelledFacts {
  const { changedAtMs, changedBy } = one;
  return [
    ['Name', one.name],
    ['About', one.about],
    ['Value', short(one.value)],
    ['Default', short(one.default)],
    ['Changed', changedAtMs === undefined ? 'never' : `${relativeTime(changedAtMs, nowMs)} by ${changedBy}`],
  ];
}

function listSettings(cli: Cli): Command {
  const command = new Command('list').alias('ls').description('List settings with their values');
  addExamples(command, ['every setting', 'muster settings list']);
  return withAction(cli, command, async (session) => {
    const { items } = await session.client.get<{ readonly items: readonly Setting[] }>(SETTINGS);
    await session.writeList(items, COLUMNS, 'No settings.');
    return undefined;
  });
}

function showSetting(cli: Cli): Command {
  const command = new Command('show').description('Show a setting, its value and its default').argument('<name>');
  addExamples(command, ['when hosts count as down', 'muster settings show liveness']);
  return withAction(cli, command, async (session, { args: [name = ''] }) => {
    const one = await session.client.get<Setting>(settingPath(name));
    await session.writeOne(one, facts(one, session.nowMs()));
    return undefined;
  });
}

function setSetting(cli: Cli): Command {
  const command = new Command('set')
    .description('Change a setting, or only some of its fields; it takes effect at once')
    .argument('<name>')
    .argument('[values...]', 'field=value or field.part=value for some of it, or one whole value as YAML or JSON')
    .option('-f, --file <path>', 'the whole value from a file, or - for standard input');
  addExamples(
    command,
    ['one field of it', 'muster settings set liveness downAfterMs=120000'],
    ['a part of a field', 'muster settings set scheduler weights.memory=-1 weights.vcpus=-1'],
    ['the whole value', 'muster settings set retention "{historyDays: 30}"'],
  );
  return withAction<{ readonly file?: string }>(
    cli,
    command,
    async (session, { args: [name = '', ...said], options }) => {
      if ((options.file === undefined) === (said.length === 0)) throw usage('Give values or a file, one of them.');
      let headers = {};
      const present = async (): Promise<unknown> => {
        const before = await session.client.get<Setting>(settingPath(name));
        // Fields are changed in the value that was read; If-Match keeps this from undoing a concurrent change.
        if (before.revision !== undefined) headers = { 'if-match': `"${before.revision}"` };
        return before.value;
      };
      const value =
        options.file === undefined ? await buildValue(said, present) : await readInput(session.terminal, options.file);
      const one = await session.client.write<Setting>('PUT', settingPath(name), { body: { value }, headers });
      await session.writeOne(one, facts(one, session.nowMs()));
      return undefined;
    },
  );
}

/** Fields are changed in what is there; anything else is the new value as a whole. */
async function buildValue(said: readonly string[], present: () => Promise<unknown>): Promise<unknown> {
  const fields = said.map((text) => /^([A-Za-z][A-Za-z0-9]*(?:\.[A-Za-z][A-Za-z0-9]*)*)=(.*)$/s.exec(text));
  if (fields.every((field) => field === null)) {
    if (said.length > 1) throw usage('One whole value, please, or several field=value.');
    return readValue(said[0] ?? '');
  }
  const changes: (readonly [path: readonly string[], value: unknown])[] = [];
  for (const [at, field] of fields.entries()) {
    if (field === null) throw usage(`"${said[at]}" is not of the form field=value.`);
    changes.push([(field[1] ?? '').split('.'), await readValue(field[2] ?? '')]);
  }
  return changes.reduce((value, [path, part]) => withPart(value, path, part), await present());
}

/** The value with one part of it changed; what is not an object there becomes one. */
function withPart(value: unknown, [field, ...rest]: readonly string[], part: unknown): unknown {
  if (field === undefined) return part;
  const before: Readonly<Record<string, unknown>> = isObject(value) ? value : {};
  const inner = Object.hasOwn(before, field) ? before[field] : undefined;
  return { ...before, [field]: withPart(inner, rest, part) };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function resetSetting(cli: Cli): Command {
  const command = new Command('reset').description('Put a setting back to its default').argument('<name>');
  addExamples(command, ['the default again', 'muster settings reset liveness']);
  return withAction(cli, command, async (session, { args: [name = ''] }) => {
    const one = await session.client.write<Setting>('DELETE', settingPath(name));
    await session.writeOne(one, facts(one, session.nowMs()));
    return undefined;
  });
}
