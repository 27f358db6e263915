// Reads a kubeconfig for the control plane: the one context that is used, and nothing of the others. The files that it names are of this machine, so they are put inside here.
import { dirname, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import { readText } from '../input/input-file.ts';
import type { Terminal } from '../output/terminal.ts';

/** The field that names a file, and the one that holds its content. */
const FILES = [
  ['certificate-authority', 'certificate-authority-data'],
  ['client-certificate', 'client-certificate-data'],
  ['client-key', 'client-key-data'],
] as const;

type Fields = Readonly<Record<string, unknown>>;

interface NamedFile {
  readonly terminal: Terminal;
  /** Undefined for standard input: there is no folder that names are relative to. */
  readonly folder: string | undefined;
}

/** As text. What is no kubeconfig is sent as it is read: the control plane says what is wrong with it. */
export async function readKubeconfig(terminal: Terminal, path: string, context?: string): Promise<string> {
  const content = await readText(terminal, path);
  const config = parseFields(content);
  if (config === undefined || !['contexts', 'clusters'].every((list) => Array.isArray(config[list]))) return content;
  const named: NamedFile = { terminal, folder: path === '-' ? undefined : dirname(resolve(path)) };
  const name = context ?? config['current-context'] ?? listOf(config, 'contexts')[0]?.['name'];
  const chosen = findNamed(config, 'contexts', name);
  // Of the others no more than their names: which there are is said when the chosen one is none of them.
  if (chosen === undefined) return stringify({ contexts: namesOf(config), clusters: [], 'current-context': name });
  const { cluster, user } = fieldsOf(chosen['context']);
  return stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name, contexts: [chosen] },
    clusters: await inlineAll(findNamed(config, 'clusters', cluster), 'cluster', named),
    users: await inlineAll(findNamed(config, 'users', user), 'user', named),
  });
}

function parseFields(content: string): Fields | undefined {
  try {
    const parsed: unknown = parse(content, { prettyErrors: false, logLevel: 'silent' });
    return typeof parsed === 'object' && parsed !== null ? (parsed as Fields) : undefined;
  } catch (error) {
    if (error instanceof Error && error.name === 'YAMLParseError') return undefined;
    throw error;
  }
}

function listOf(config: Fields, list: string): Fields[] {
  const found = config[list];
  return Array.isArray(found) ? found.map(fieldsOf) : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function findNamed(config: Fields, list: string, name: unknown): Fields | undefined {
  return listOf(config, list).find((one) => one['name'] === name);
}

function namesOf(config: Fields): object[] {
  return listOf(config, 'contexts').map(({ name }) => ({ name, context: { cluster: '' } }));
}

async function inlineAll(entry: Fields | undefined, part: string, named: NamedFile): Promise<object[]> {
  if (entry === undefined) return [];
  const fields = new Map(Object.entries(fieldsOf(entry[part])));
  if (named.folder !== undefined) await inlineFiles(fields, { ...named, folder: named.folder });
  return [{ name: entry['name'], [part]: Object.fromEntries(fields) }];
}

async function inlineFiles(
  fields: Map<string, unknown>,
  { terminal, folder }: NamedFile & { readonly folder: string },
): Promise<void> {
  const read = (name: string): Promise<string> => readText(terminal, resolve(folder, name));
  for (const [file, data] of FILES) {
    const name = fields.get(file);
    if (typeof name !== 'string') continue;
    fields.set(data, Buffer.from(await read(name)).toString('base64'));
    fields.delete(file);
  }
  const tokenFile = fields.get('tokenFile');
  if (typeof tokenFile !== 'string') return;
  fields.set('token', (await read(tokenFile)).trim());
  fields.delete('tokenFile');
}
