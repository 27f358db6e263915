// The cluster has no such thing, or does not let Muster see it: for what is not required that is an answer.
import type { ApiStatus } from './errors.ts';

export function isNotShown({ code }: ApiStatus): true | undefined {
  return code === 403 || code === 404 ? true : undefined;
}
