// Reads a kubeconfig for the control plane: the files that it names are of this machine, so they are put inside here.
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
  const folder = dirname(resolve(path));
  for (const map of mapsIn(document.contents)) {
    for (const [file, data] of FILES) await inlineFile(map, { terminal, file, data, folder });
    await inlineToken(map, { terminal, folder });
  }
  return document.toString();
}

function* mapsIn(node: unknown): Generator<YAMLMap> {
  if (isMap(node)) yield node;
  const items = (node as { readonly items?: readonly unknown[] } | null | undefined)?.items ?? [];
  for (const item of items) yield* mapsIn((item as { readonly value?: unknown }).value ?? item);
}

interface Folder {
  readonly terminal: Terminal;
  readonly folder: string;
}

interface NamedFile extends Folder {
  readonly file: string;
  readonly data: string;
}

async function inlineFile(map: YAMLMap, { terminal, file, data, folder }: NamedFile): Promise<void> {
  const name = map.get(file, true);
  if (!isScalar(name) || typeof name.value !== 'string') return;
  map.set(data, Buffer.from(await readText(terminal, resolve(folder, name.value))).toString('base64'));
  map.delete(file);
}

async function inlineToken(map: YAMLMap, { terminal, folder }: Folder): Promise<void> {
  const name = map.get('tokenFile', true);
  if (!isScalar(name) || typeof name.value !== 'string') return;
  map.set('token', (await readText(terminal, resolve(folder, name.value))).trim());
  map.delete('tokenFile');
}
