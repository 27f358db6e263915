// Lists of a real API come in pages. A list that took too long to read is begun anew.
import { ClusterUnreachable } from '../cluster-api.ts';
import { readAnswer, readItems } from './answers.ts';
import type { ApiStatus } from './errors.ts';

const PAGE_SIZE = 500;
/** A list that expires so often is never read whole. */
const RESTARTS_MAX = 3;
const EXPIRED = 410;
/** More Nodes than a cluster takes, and more pods than it starts on one. */
const ITEMS_MAX = 50_000;
/** Pages may be empty where a selector leaves nothing of them. */
const PAGES_MAX = 1000;

export interface ObjectPage<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

interface KubernetesList<T> {
  readonly items: readonly T[];
  readonly metadata?: { readonly _continue?: string };
}

/** `describe` is what each of its items means. */
export function pageOf<T, D>(list: KubernetesList<T>, describe: (one: T) => D): ObjectPage<D> {
  return readAnswer(() => {
    const next = list.metadata?._continue;
    return { items: readItems(list.items).map(describe), next: next === '' ? undefined : next };
  });
}

export type ReadPage<T> = (page: {
  readonly limit: number;
  readonly _continue?: string;
}) => Promise<ObjectPage<T> | 'expired'>;

export async function readPages<T>(readPage: ReadPage<T>): Promise<readonly T[]> {
  for (let restarts = 0; ; restarts += 1) {
    const items = await readAll(readPage);
    if (items !== 'expired') return items;
    if (restarts >= RESTARTS_MAX) throw new ClusterUnreachable('a list of it expired each time that it was read');
  }
}

async function readAll<T>(readPage: ReadPage<T>): Promise<readonly T[] | 'expired'> {
  const items: T[] = [];
  let next: string | undefined;
  for (let pages = 0; pages < PAGES_MAX && items.length <= ITEMS_MAX; pages += 1) {
    const page = await readPage({ limit: PAGE_SIZE, ...(next !== undefined && { _continue: next }) });
    if (page === 'expired') return 'expired';
    for (const item of page.items) items.push(item);
    ({ next } = page);
    if (next === undefined && items.length <= ITEMS_MAX) return items;
  }
  throw new ClusterUnreachable('a list of it has no end');
}

export function isExpired({ code }: ApiStatus): 'expired' | undefined {
  return code === EXPIRED ? 'expired' : undefined;
}
