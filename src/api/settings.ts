// The HTTP surface of settings: named values with a default. Only what differs from it is in the journal.
import { Type } from 'typebox';
import {
  answer,
  strictObject,
  read,
  refusalAnswer,
  defineRepresentation,
  noProject,
  wholeFleet,
  write,
  type Answer,
  type Route,
  type Write,
} from '../access/index.ts';
import {
  put,
  remove,
  SETTING,
  suggestion,
  valueOf,
  type FleetReader,
  type Refusal,
  type Setting,
  type Stored,
} from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';

export const SETTING_REPRESENTATION = defineRepresentation({
  kind: SETTING,
  siteOf: wholeFleet,
  projectOf: noProject,
  fields: { value: Type.Unknown(), changedBy: Type.String(), changedAtMs: Type.Integer() },
});

const ByName = strictObject({ name: Type.String({ pattern: '^[a-z0-9][a-z0-9.-]{0,99}$' }) });

const SettingJson = Type.Object({
  name: Type.String(),
  about: Type.String(),
  value: Type.Unknown(),
  default: Type.Unknown(),
  schema: Type.Unknown({ description: 'the JSON schema of the value' }),
  revision: Type.Optional(Type.Integer()),
  changedBy: Type.Optional(Type.String()),
  changedAtMs: Type.Optional(Type.Integer()),
});

const ONE = { 200: { about: 'the setting', schema: SettingJson } };

interface SettingDoc {
  readonly value: unknown;
  readonly changedBy: string;
  readonly changedAtMs: number;
}

function toJson(setting: Setting, stored: Stored<'setting', SettingDoc> | undefined): object {
  const { name, about, defaultValue, schema } = setting;
  if (stored === undefined) return { name, about, value: defaultValue, default: defaultValue, schema };
  const { value, changedBy, changedAtMs } = stored.doc;
  return { name, about, value, default: defaultValue, schema, revision: stored.revision, changedBy, changedAtMs };
}

type StoredSetting = Stored<'setting', SettingDoc> | undefined;

function answerOf(setting: Setting, stored: StoredSetting): Answer {
  return { ...answer(toJson(setting, stored)), ...(stored !== undefined && { etag: stored.revision }) };
}

/** With a key only the revision is kept: what a setting is about is longer than a key may cost. */
function writeAnswers(setting: Setting): Pick<Write, 'answer' | 'recompose'> {
  return {
    answer: ({ after }) => {
      const stored = after.get(SETTING, setting.name);
      const shown = stored && { kind: SETTING.name, id: stored.id, revision: stored.revision };
      return { ...answerOf(setting, stored), memo: '', ...(shown !== undefined && { shown }) };
    },
    recompose: ({ shown }) => answerOf(setting, shown as StoredSetting),
  };
}

export function settingRoutes(settings: readonly Setting[]): Route[] {
  const known = new Map<string, Setting>(settings.map((one) => [one.name, one]));
  return [listRoute(settings), readRoute(known), changeRoute(known), resetRoute(known)];
}

function listRoute(settings: readonly Setting[]): Route {
  return read({
    method: 'GET',
    path: '/api/v1/settings',
    tag: 'settings',
    about: 'List settings with their values and defaults',
    access: 'viewer',
    answers: { 200: { about: 'every setting', schema: Type.Object({ items: Type.Array(SettingJson) }) } },
    handle: (_, { journal }) =>
      answer({ items: settings.map((one) => toJson(one, journal.fleet.get(SETTING, one.name))) }),
  });
}

type SettingsByName = ReadonlyMap<string, Setting>;

function readRoute(known: SettingsByName): Route {
  return read({
    method: 'GET',
    path: '/api/v1/settings/:name',
    tag: 'settings',
    about: 'Show a setting',
    access: 'viewer',
    params: ByName,
    answers: ONE,
    handle: ({ params }, { journal }) => {
      const setting = known.get(params.name);
      return setting === undefined
        ? refusalAnswer(unknownSetting(params.name, known))
        : answerOf(setting, journal.fleet.get(SETTING, setting.name));
    },
  });
}

function changeRoute(known: SettingsByName): Route {
  return write({
    method: 'PUT',
    path: '/api/v1/settings/:name',
    tag: 'settings',
    about: 'Change a setting; it takes effect at once',
    access: 'admin',
    params: ByName,
    body: strictObject({ value: Type.Unknown() }),
    answers: ONE,
    handle: ({ params, body, caller }, { clock }) => {
      const setting = known.get(params.name);
      if (setting === undefined) return refusalAnswer(unknownSetting(params.name, known));
      const doc: SettingDoc = { value: body.value, changedBy: caller.name, changedAtMs: clock.nowMs() };
      return {
        target: { representation: SETTING_REPRESENTATION, id: setting.name, optional: true },
        why: `change setting ${setting.name}`,
        decide: (fleet): Decision<null> => changeSetting(fleet, setting, doc),
        ...writeAnswers(setting),
      };
    },
  });
}

function resetRoute(known: SettingsByName): Route {
  return write({
    method: 'DELETE',
    path: '/api/v1/settings/:name',
    tag: 'settings',
    about: 'Put a setting back to its default',
    access: 'admin',
    params: ByName,
    answers: ONE,
    handle: ({ params }) => {
      const setting = known.get(params.name);
      if (setting === undefined) return refusalAnswer(unknownSetting(params.name, known));
      return {
        target: { representation: SETTING_REPRESENTATION, id: setting.name, optional: true },
        why: `reset setting ${setting.name}`,
        decide: (fleet): Decision<null> =>
          accept(fleet.get(SETTING, setting.name) === undefined ? [] : [remove(SETTING, setting.name)], null),
        ...writeAnswers(setting),
      };
    },
  });
}

function changeSetting(fleet: FleetReader, setting: Setting, doc: SettingDoc): Decision<null> {
  const [problem] = setting.problems(doc.value);
  if (problem !== undefined) {
    const field = `/value${problem.field}`;
    const message = `The value of "${setting.name}" is not allowed: ${field} ${problem.message}. "muster settings show ${setting.name}" shows a value that is.`;
    return refuse({
      kind: 'invalid',
      code: 'invalid-value',
      message,
      field,
      facts: { problems: setting.problems(doc.value) },
    });
  }
  const same = JSON.stringify(valueOf(fleet, setting)) === JSON.stringify(doc.value);
  return accept(same ? [] : [put(SETTING, setting.name, doc)], null);
}

function unknownSetting(name: string, known: SettingsByName): Refusal {
  const message = `There is no setting "${name}"${suggestion(name, [...known.keys()])}. List them with "muster settings list".`;
  return { kind: 'not-found', code: 'unknown-setting', message };
}
