import { expect, test } from 'vitest';
import { countOverruns, readSocketDrops } from './receive-overruns.ts';

/** As `ss` of iproute2 6.1 prints them. */
const LISTED = `p_raw UNCONN 2496   0              *:lo             *  ino:22173599 sk:2c
	ver:0 cpy_thresh:0 flags( running ) skmem:(r2496,rb2304,t0,tb212992,f0,w0,o0,bl0,d97)
raw   UNCONN 0      0        0.0.0.0:1       0.0.0.0:*
udp   UNCONN 1664   0      127.0.0.1:9       0.0.0.0:* ino:22173600 sk:2d cgroup:/ <->
	 skmem:(r1664,rb2304,t0,tb212992,f2432,w0,o0,bl0,d48)
udp   ESTAB  0      0      127.0.0.1:60323 127.0.0.1:9 ino:22173601 sk:2e cgroup:/ <->
	 skmem:(r0,rb212992,t0,tb212992,f0,w0,o0,bl0,d0)
`;

test('each-socket-says-what-it-has-dropped', () => {
  expect([...readSocketDrops(LISTED)]).toEqual([
    ['22173599', 97],
    ['22173600', 48],
    ['22173601', 0],
  ]);
  expect(readSocketDrops('').size).toBe(0);
});

test('only-what-was-dropped-meanwhile-counts, also-of-sockets-that-are-new', () => {
  const before = new Map([
    ['1', 5],
    ['2', 7],
    ['closed', 100],
  ]);
  const after = new Map([
    ['1', 8],
    ['2', 7],
    ['new', 4],
  ]);
  expect(countOverruns(before, after)).toBe(7);
});
