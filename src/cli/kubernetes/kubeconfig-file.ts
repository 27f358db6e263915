// Reads a kubeconfig for the control plane: the files that it names are of this machine, so they are put inside here.
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml';
import { readText } from '../input/input-file.ts';
import type { Terminal } from '../output/terminal.ts';

/** The field that names a file, and the one that holds its content. */
const FILES = [
  ['certificate-authority', 'certificate-authority-data'],
  ['client-certificate', 'client-certificate-data'],
  ['client-key', 'client-key-data'],
] as const;

export async function readKubeconfig(terminal: Terminal, path: string): Promise<string> {
  const content = await readText(terminal, path);
  if (path === '-') return content;
  const document = parseDocument(content, { prettyErrors: false });
  if (document.errors.length > 0) return content;
  for (const map of mapsIn(document.contents)) {
    for (const [file, data] of FILES) await inlineFile(map, { file, data, folder: dirname(resolve(path)) });
    await inlineToken(map, dirname(resolve(path)));
  }
  return document.toString();
}

function* mapsIn(node: unknown): Generator<YAMLMap> {
  if (isMap(node)) yield node;
  const items = (node as { readonly items?: readonly unknown[] } | null | undefined)?.items ?? [];
  for (const item of items) yield* mapsIn((item as { readonly value?: unknown }).value ?? item);
}

interface NamedFile {
  readonly file: string;
  readonly data: string;
  readonly folder: string;
}

async function inlineFile(map: YAMLMap, { file, data, folder }: NamedFile): Promise<void> {
  const name = map.get(file, true);
  if (!isScalar(name) || typeof name.value !== 'string') return;
  map.set(data, (await readFile(resolve(folder, name.value))).toString('base64'));
  map.delete(file);
}

async function inlineToken(map: YAMLMap, folder: string): Promise<void> {
  const name = map.get('tokenFile', true);
  if (!isScalar(name) || typeof name.value !== 'string') return;
  map.set('token', (await readFile(resolve(folder, name.value), 'utf8')).trim());
  map.delete('tokenFile');
}
