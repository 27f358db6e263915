// The media types of RESTCONF: JSON in and out. A client that requests XML is refused before anything is done.
import type { Route } from '../../access/index.ts';
import { HttpProblem, unsupportedMediaType } from '../problem.ts';
import { YANG_JSON } from './errors.ts';

const GOOD = new Set([
  YANG_JSON,
  'application/json',
  'application/*',
  '*/*',
  'application/yang',
  'application/xrd+xml',
]);

export function refuseUnacceptable(accept: string | undefined): void {
  if (accept === undefined || accept.trim() === '') return;
  const wanted = accept.split(',').map((one) => one.split(';', 1)[0]?.trim().toLowerCase() ?? '');
  if (wanted.some((one) => GOOD.has(one))) return;
  const detail = `This server answers in ${YANG_JSON} and in nothing else; request that in Accept.`;
  throw new HttpProblem({ status: 406, code: 'not-acceptable', detail });
}

/** A native route takes plain JSON only. */
export function refuseYangElsewhere(type: string | undefined, route: Route | undefined): void {
  if (type === 'application/json' || route?.dialect === 'restconf') return;
  if (type?.trim().toLowerCase().startsWith(YANG_JSON) !== true) return;
  throw unsupportedMediaType();
}
