// Files are split by feature and named after what they hold. A name that could hold anything ends up holding everything.
import type { Place } from './place.ts';

const MEANINGLESS_NAMES = new Set(['types', 'utils', 'util', 'helpers', 'constants', 'common', 'misc']);

export function fileNameProblem(place: Place): string | undefined {
  const name = place.name.replace(/\.test$/, '');
  if (!MEANINGLESS_NAMES.has(name)) return undefined;
  return `${place.path} is named after a kind of code. Split it by feature and name it after what it holds.`;
}
