// Spans of time as people write and read them.
import { usage } from '../exit-code.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
};

/** `30s`, `5m`, `1h30m`, `2d`; a bare number is seconds. */
export function parseDuration(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.round(Number(text) * SECOND_MS);
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw usage(`"${text}" is not a span of time. Write it like 30s, 5m, 1h30m or 2d.`);
  }
  return Math.round(parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0), 0));
}

/** The longest that a timer waits, about 24 days: one that is set for longer goes off at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** A wait as a timer accepts it. */
export function parseTimeout(text: string): number {
  return Math.min(parseDuration(text), TIMER_MAX_MS);
}

/** The one or two largest units: `12s`, `3m`, `2h 5m`, `4d`. */
export function durationText(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.max(0, Math.floor(ms / SECOND_MS))}s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)}m`;
  if (ms < DAY_MS) return two(Math.floor(ms / HOUR_MS), 'h', Math.floor((ms % HOUR_MS) / MINUTE_MS), 'm');
  const days = Math.floor(ms / DAY_MS);
  return days >= 10 ? `${days}d` : two(days, 'd', Math.floor((ms % DAY_MS) / HOUR_MS), 'h');
}

function two(many: number, unit: string, few: number, smaller: string): string {
  return few === 0 ? `${many}${unit}` : `${many}${unit} ${few}${smaller}`;
}

/** `3m ago`, `in 2h`; people read these, programs read the JSON. */
export function relativeTime(atMs: number, nowMs: number): string {
  const ms = nowMs - atMs;
  // Clocks of two machines differ a little; a second ahead is now.
  if (Math.abs(ms) < 2 * SECOND_MS) return 'now';
  return ms >= 0 ? `${durationText(ms)} ago` : `in ${durationText(-ms)}`;
}
