// The history query as SQL, for both databases: they differ in how a parameter is written. It answers which commits match and
// how large they are, so that only those that fit a page are read. A resource's history walks the index of touched resources
// backwards; a whole kind's history costs as much as that kind has history.
import type { HistoryQuery } from './store.ts';

interface Sql {
  readonly text: string;
  readonly values: readonly (string | number)[];
}

export function historySql(query: HistoryQuery, parameter: (nth: number) => string, schema: string): Sql {
  const values: (string | number)[] = [];
  const bindValue = (value: string | number): string => parameter(values.push(value));
  const where: string[] = [];
  const from = fromOf(query, bindValue, schema);
  if (query.operation !== undefined) where.push(`c.operation = ${bindValue(query.operation)}`);
  if (query.before !== undefined) where.push(`c.revision < ${bindValue(query.before)}`);
  const condition = where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`;
  // One more than requested shows whether there is a next page.
  const text = `SELECT c.revision, octet_length(c.changes) AS bytes FROM ${from}${condition}
    ORDER BY c.revision DESC LIMIT ${bindValue(query.limit + 1)}`;
  return { text, values };
}

function fromOf(query: HistoryQuery, bindValue: (value: string | number) => string, schema: string): string {
  const log = `${schema}commit_log c`;
  if (query.kind === undefined) return log;
  const id = query.id === undefined ? '' : ` AND id = ${bindValue(query.id)}`;
  const before = query.before === undefined ? '' : ` AND revision < ${bindValue(query.before)}`;
  const which = query.id === undefined ? 'DISTINCT revision' : 'revision';
  const touched = `SELECT ${which} FROM ${schema}touched WHERE kind = ${bindValue(query.kind)}${id}${before}`;
  return `(${touched}) t JOIN ${log} ON c.revision = t.revision`;
}
