// TypeScript to JavaScript for the tarball: types become blanks, so lines and columns stay as in the sources, and
// imports of neighbours follow the files' new names.
import { stripTypeScriptTypes } from 'node:module';

const IMPORTED = /\b(from|import)(\s*\(?\s*)(['"])(\.{1,2}\/[^'"\n]+)\.ts\3/g;
const BESIDE = /\bnew URL\((\s*)(['"])(\.{1,2}\/[^'"\n]+)\.ts\2/g;
const LEFT_OVER = /(['"`])\.{1,2}\/[^'"`\n]*\.ts\1/;

export function toJavaScript(source: string, path: string): string {
  const code = strip(source, path)
    .replaceAll(IMPORTED, '$1$2$3$4.js$3')
    .replaceAll(BESIDE, 'new URL($1$2$3.js$2');
  const left = LEFT_OVER.exec(code);
  // Better no tarball than one that fails when this line is reached.
  if (left !== null) throw new Error(`${path}: ${left[0]} names a TypeScript file that is not in the tarball`);
  return code;
}

/** Node's message shows the line, but not whose it is. */
function strip(source: string, path: string): string {
  try {
    return stripTypeScriptTypes(source, { mode: 'strip' });
  } catch (error) {
    throw new Error(`${path} cannot be stripped to JavaScript`, { cause: error });
  }
}
