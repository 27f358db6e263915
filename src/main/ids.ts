// Ids and secrets of a running server. Ids sort by time of creation: ten characters of time, then random ones, in Crockford's base 32,
// which has no letters that look alike.
import { randomBytes } from 'node:crypto';
import type { Ids } from '../journal/index.ts';

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
/** Two digits at once: an id is made for every document. */
const PAIRS = Array.from({ length: 1024 }, (_, value) => `${DIGITS[value >>> 5]}${DIGITS[value & 31]}`);
const LENGTH = 10;
/** Beside the millisecond: ids of several servers never collide. The rest of the ten digits is for counting within one millisecond. */
const CHANCE_BYTES = 6;
const CHANCES = 2 ** 50;
/** Drawn from the system in one call, as one draw costs as much as many. */
const POOL_BYTES = CHANCE_BYTES * 128;
const SECRET_BYTES = 32;

export function realIds(nowMs: () => number = Date.now): Ids {
  const draw = createRandomPool();
  let lastMs = 0;
  let time = '';
  let chance = 0;
  /** All but the last two digits: they stay the same while those are counted up. */
  let head = '';
  return {
    next: (prefix) => {
      const ms = Math.max(nowMs(), lastMs);
      const isLater = ms !== lastMs || time === '';
      // Within a millisecond, and when the clock is set back, the next id is the previous one plus one: the order holds.
      chance = isLater ? draw() : (chance + 1) % CHANCES;
      if (isLater) {
        time = digits(ms, LENGTH);
        lastMs = ms;
      }
      const last = chance % PAIRS.length;
      if (isLater || last === 0) head = `${time}${digits(Math.floor(chance / PAIRS.length), LENGTH - 2)}`;
      return `${prefix}-${head}${PAIRS[last]}`;
    },
    secret: () => randomBytes(SECRET_BYTES).toString('base64url'),
  };
}

function createRandomPool(): () => number {
  let pool = randomBytes(POOL_BYTES);
  let at = 0;
  return () => {
    if (at === POOL_BYTES) [pool, at] = [randomBytes(POOL_BYTES), 0];
    at += CHANCE_BYTES;
    return pool.readUIntBE(at - CHANCE_BYTES, CHANCE_BYTES);
  };
}

/** The lowest digits of a number, this many of them. */
function digits(number: number, length: number): string {
  let text = '';
  let rest = number;
  for (let left = length; left > 0; left -= 2) {
    text = `${PAIRS[rest % 1024]}${text}`;
    rest = Math.floor(rest / 1024);
  }
  return text;
}
