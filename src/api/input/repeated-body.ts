// Caches the last validated body of each caller: ten thousand agents repeat identical heartbeats, and an identical text needs neither parsing
// nor validation again. Only short bodies are kept.
import type { AdmittedRequest } from '../request-admission.ts';
import { parseJson } from './json-body.ts';

/** A usual heartbeat has a hundred characters. One with a report has more, and is not repeated. */
const KEPT_LENGTH_MAX = 500;

/** The value of a text: the very one of last time when it is the same text. */
export function repeatedBody(admitted: AdmittedRequest, text: string): unknown {
  const { known, route } = admitted;
  if (known?.lastBody?.text === text && known.lastBody.route === route) return known.lastBody.body;
  admitted.text = text;
  return parseJson(text);
}

/** Whether this very value has passed the route's check before. */
export function hasPassed({ known, route }: AdmittedRequest, body: unknown): boolean {
  return known?.lastBody !== undefined && known.lastBody.body === body && known.lastBody.route === route;
}

/** A body has passed its route's check. */
export function rememberBody({ known, route, text }: AdmittedRequest, body: unknown): void {
  if (known === undefined || text === undefined || text.length > KEPT_LENGTH_MAX) return;
  known.lastBody = { route, text, body };
}
