// Ids and secrets of a running server. Ids sort by time of creation: ten characters of time, then chance, in Crockford's
// base 32, which has no letters that look alike.
import { randomBytes } from 'node:crypto';
import type { Ids } from '../journal/index.ts';

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 10;
/** 50 bits beside the millisecond: several servers never meet. */
const CHANCE_LENGTH = 10;
const SECRET_BYTES = 32;

export function realIds(nowMs: () => number = Date.now): Ids {
  let lastMs = 0;
  let chance: number[] = [];
  return {
    next: (prefix) => {
      const ms = Math.max(nowMs(), lastMs);
      // Within a millisecond, and when the clock is set back, the next id is the last one plus one: the order holds.
      chance = ms === lastMs ? plusOne(chance) : drawn();
      lastMs = ms;
      return `${prefix}-${timeText(ms)}${chance.map((digit) => DIGITS[digit]).join('')}`;
    },
    secret: () => randomBytes(SECRET_BYTES).toString('base64url'),
  };
}

function drawn(): number[] {
  const digits = [...randomBytes(CHANCE_LENGTH)].map((byte) => byte & 31);
  // Room for counting up within the millisecond.
  return [(digits[0] ?? 0) & 15, ...digits.slice(1)];
}

function plusOne(digits: readonly number[]): number[] {
  const next = [...digits];
  for (let at = next.length - 1; at >= 0; at -= 1) {
    next[at] = ((next[at] ?? 0) + 1) % DIGITS.length;
    if (next[at] !== 0) break;
  }
  return next;
}

function timeText(ms: number): string {
  let text = '';
  for (let rest = ms; text.length < TIME_LENGTH; rest = Math.floor(rest / DIGITS.length)) {
    text = `${DIGITS[rest % DIGITS.length]}${text}`;
  }
  return text;
}
