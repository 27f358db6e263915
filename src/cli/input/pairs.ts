// Options of the form name=value that may be repeated.
import { usage } from '../exit-code.ts';

/** `architecture=x86_64`: the name ends at the first equals sign. A name that is there twice is a mistake. */
export function namedValues(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw usage(`"${text}" is not of the form name=value, such as architecture=x86_64.`);
  if (Object.hasOwn(before, name)) throw usage(`"${name}" is there twice. Say it once.`);
  return { ...before, [name]: value };
}
