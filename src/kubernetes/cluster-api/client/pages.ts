// Lists of a real API come in pages. A list that took too long to read is begun anew.
import type { ApiStatus } from './errors.ts';

const PAGE_SIZE = 500;
/** A list that expires so often is never read whole. */
const RESTARTS_MAX = 3;
const EXPIRED = 410;

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

interface KubernetesList<T> {
  readonly items: readonly T[];
  readonly metadata?: { readonly _continue?: string };
}

export function pageOf<T>({ items, metadata }: KubernetesList<T>): Page<T> {
  const next = metadata?._continue;
  return { items, next: next === '' ? undefined : next };
}

export type ReadPage<T> = (page: {
  readonly limit: number;
  readonly _continue?: string;
}) => Promise<Page<T> | 'expired'>;

export async function readPages<T>(readPage: ReadPage<T>): Promise<readonly T[]> {
  for (let restarts = 0; ; restarts += 1) {
    const items = await readAll(readPage);
    if (items !== 'expired') return items;
    if (restarts >= RESTARTS_MAX) throw new Error('a list expired each time that it was read');
  }
}

async function readAll<T>(readPage: ReadPage<T>): Promise<readonly T[] | 'expired'> {
  const items: T[] = [];
  let next: string | undefined;
  do {
    const page = await readPage({ limit: PAGE_SIZE, ...(next !== undefined && { _continue: next }) });
    if (page === 'expired') return 'expired';
    items.push(...page.items);
    ({ next } = page);
  } while (next !== undefined);
  return items;
}

export function isExpired({ code }: ApiStatus): 'expired' | undefined {
  return code === EXPIRED ? 'expired' : undefined;
}
