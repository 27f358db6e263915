// The text in which a runtime keeps what it has: JSON that ends with a checksum of what stands before it. Older agents read it as well,
// and wrote it without the checksum. Whatever else it says is damage, and never "nothing runs here".
import { Type, type Static } from 'typebox';
import { compileChecker } from '../../../fleet/index.ts';
import { sealJson, tryParseJson, unsealJson } from '../../../link/index.ts';
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

export function writeRuntimeState({ instances, sent }: RuntimeState): string {
  return sealJson({ instances: instances.map(toStored), sent });
}

/** What an older agent makes of a state that it does not know. It reads no other than these. */
const FORMER_STATES: Readonly<Record<RuntimeInstance['state'], string>> = {
  prepared: 'prepared',
  received: 'prepared',
  running: 'running',
  stopped: 'stopped',
  ended: 'running',
  sent: 'stopped',
};

/** `awaited` is what older agents know an instance by that has not arrived. */
function toStored(instance: RuntimeInstance): object {
  const { state } = instance;
  return { ...instance, state: FORMER_STATES[state], power: state, ...(state === 'prepared' && { awaited: true }) };
}

interface InstanceRecord extends Omit<RuntimeInstance, 'state'> {
  readonly state: 'prepared' | 'running' | 'stopped';
  readonly power?: RuntimeInstance['state'];
  readonly awaited?: true;
}

/** An older agent keeps the fields that it does not know, and may have changed the state since: then what it wrote counts. */
function fromStored({ state: former, power, awaited, ...instance }: InstanceRecord): RuntimeInstance {
  if (power !== undefined && FORMER_STATES[power] === former) return { ...instance, state: power };
  return { ...instance, state: former === 'prepared' && awaited !== true ? 'received' : former };
}

/** The state, or in words why the text is damaged. */
export function readRuntimeState(text: string): RuntimeState | string {
  const body = unsealJson(text);
  if (body === undefined) return 'its checksum is wrong';
  const value = tryParseJson(body);
  if (value === undefined) return 'it is no JSON';
  const [problem] = check(value);
  if (problem !== undefined) return `${problem.field} ${problem.message}`;
  const { instances, sent } = value as Static<typeof STATE> as unknown as {
    instances: InstanceRecord[];
  } & RuntimeState;
  return { instances: instances.map(fromStored), sent };
}
