// Settings: named values that operators may change while the system runs. A module declares its own with a default; only
// values that differ from it are in the journal.
import { Type, type Static, type TSchema } from 'typebox';
import { idOf, type Id } from './document.ts';
import type { FleetReader } from './reader.ts';
import { compileChecker, schemaKind, type SchemaProblem } from './schema.ts';

export const SETTING = schemaKind(
  'setting',
  Type.Object(
    {
      value: Type.Unknown(),
      changedBy: Type.String(),
      changedAtMs: Type.Integer(),
    },
    { additionalProperties: false },
  ),
);

export type SettingId = Id<'setting'>;

export interface Setting<T = unknown> {
  readonly name: SettingId;
  /** What it changes, in a sentence for operators. */
  readonly about: string;
  readonly schema: TSchema;
  readonly defaultValue: T;
  readonly problems: (value: unknown) => SchemaProblem[];
}

export function setting<S extends TSchema>(
  name: string,
  options: {
    readonly about: string;
    readonly schema: S;
    readonly defaultValue: Static<S>;
    /** What the schema cannot say: how fields stand to each other. */
    readonly check?: (value: Static<S>) => SchemaProblem[];
  },
): Setting<Static<S>> {
  const { about, schema, defaultValue, check } = options;
  const form = compileChecker(schema);
  const problems = (value: unknown): SchemaProblem[] => {
    const wrong = form(value);
    return wrong.length > 0 ? wrong : (check?.(value as Static<S>) ?? []);
  };
  return { name: idOf(SETTING, name), about, schema, defaultValue, problems };
}

export function valueOf<T>(fleet: FleetReader, wanted: Setting<T>): T {
  const stored = fleet.get(SETTING, wanted.name);
  return stored === undefined ? wanted.defaultValue : (stored.doc.value as T);
}
