// The text in which a runtime keeps what it has: JSON that ends with a checksum of what stands before it. Older agents read it as well,
// and wrote it without the checksum. Whatever else it says is damage, and never "nothing runs here".
import { hash } from 'node:crypto';
import { Type, type Static } from 'typebox';
import { compileChecker } from '../../../fleet/index.ts';
import { tryParseJson } from '../../../link/index.ts';
import type { RuntimeInstance } from './instance-runtime.ts';

const ID = Type.String({ minLength: 1 });
const AMOUNT = Type.Integer({ minimum: 0 });

const STATE = Type.Object(
  {
    instances: Type.Array(
      Type.Object({
        id: ID,
        state: Type.Enum(['prepared', 'running', 'stopped']),
        vcpus: AMOUNT,
        memoryMiB: AMOUNT,
        diskGiB: AMOUNT,
        nics: Type.Array(Type.Object({ port: ID })),
        by: ID,
      }),
    ),
    sent: Type.Array(Type.Array(ID, { minItems: 2, maxItems: 2 })),
  },
  // An unknown field is a checksum that was damaged.
  { additionalProperties: false },
);

const check = compileChecker(STATE);

export interface RuntimeState {
  readonly instances: readonly RuntimeInstance[];
  /** Where instances were sent, oldest first. */
  readonly sent: readonly (readonly [string, string])[];
}

const SEAL = /,"sha256":"([0-9a-f]{64})"\}$/;

export function writeRuntimeState({ instances, sent }: RuntimeState): string {
  const body = JSON.stringify({ instances, sent });
  return `${body.slice(0, -1)},"sha256":"${checksumOf(body)}"}`;
}

/** The state, or in words why the text is damaged. */
export function readRuntimeState(text: string): RuntimeState | string {
  const sealed = SEAL.exec(text);
  const body = sealed === null ? text : `${text.slice(0, sealed.index)}}`;
  if (sealed !== null && sealed[1] !== checksumOf(body)) return 'its checksum is wrong';
  const value = tryParseJson(body);
  if (value === undefined) return 'it is no JSON';
  const [problem] = check(value);
  if (problem !== undefined) return `${problem.field} ${problem.message}`;
  return value as Static<typeof STATE> as unknown as RuntimeState;
}

function checksumOf(text: string): string {
  return hash('sha256', text, 'hex');
}
