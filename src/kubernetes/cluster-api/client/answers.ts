// What an answer is made of is not taken on trust: whoever answers may be no Kubernetes, or one that was taken over. What cannot be understood is an API that does not
// answer: it is waited for, and nothing follows from it.
import { ClusterUnreachable } from '../cluster-api.ts';

/** As Kubernetes names things at the longest. */
const NAME_MAX = 253;
const UID_MAX = 100;

/** What `read` makes of an answer. Its fields are of whatever type the peer sent, so that reading them may fail anywhere. */
export function readAnswer<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw malformedAnswer();
    throw error;
  }
}

export function malformedAnswer(): ClusterUnreachable {
  return new ClusterUnreachable('its answer is none that a Kubernetes API gives');
}

/** A text of a bounded length; another one is no name. */
export function readName(value: unknown, max = NAME_MAX): string {
  if (typeof value !== 'string' || value === '' || value.length > max) throw new TypeError('no name');
  return value;
}

export function readNameIfAny(value: unknown): string {
  return value === undefined || value === null || value === '' ? '' : readName(value);
}

export function readUid(value: unknown): string {
  return readName(value, UID_MAX);
}

/** What is shown, and means nothing here. */
export function readText(value: unknown, max: number): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, max) : undefined;
}

export function readCount(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : otherwise;
}

/** What an answer is about: never left out, for nothing may look like an empty one. Go writes an empty one as null. */
export function readItems<T>(value: readonly T[] | null | undefined): readonly T[] {
  if (value === undefined) throw new TypeError('no list');
  return readList(value);
}

/** A list that is empty may be left out, or be null. */
export function readList<T>(value: readonly T[] | null | undefined): readonly T[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new TypeError('no list');
  return value as readonly T[];
}

export function readMap(value: unknown): Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, string>>) : {};
}
