import { describe, expect, test } from 'vitest';
import { decodeArpFrame } from '../packets/arp.ts';
import { decodeNdFrame } from '../packets/nd-frame.ts';
import { announcementFrames, nextAnnouncement, type AnnouncementState } from './announcement.ts';

const MAC = '02:00:00:00:00:01';

describe('announcements', () => {
  test('of an address of IPv4 are a request and a reply, both from and for itself', () => {
    const link = { srcMac: MAC, dstMac: 'ff:ff:ff:ff:ff:ff' };
    const [request, reply, ...more] = announcementFrames({ ip: '198.51.100.7', mac: MAC }).map(decodeArpFrame);
    const itself = { senderMac: MAC, senderIp: '198.51.100.7', targetIp: '198.51.100.7' };
    expect(request).toMatchObject({ link, arp: { operation: 'request', ...itself, targetMac: '00:00:00:00:00:00' } });
    expect(reply).toMatchObject({ link, arp: { operation: 'reply', ...itself, targetMac: MAC } });
    expect(more).toEqual([]);
  });

  test.each([
    ['a router', true],
    ['an instance', false],
  ])('of an address of IPv6 go to all nodes and replace what was known: of %s', (_name, router) => {
    const frames = announcementFrames({ ip: '2001:db8::7', mac: MAC, router }).map(decodeNdFrame);
    expect(frames).toMatchObject([
      {
        link: { srcMac: MAC, dstMac: '33:33:00:00:00:01' },
        between: { src: '2001:db8::7', dst: 'ff02::1' },
        message: { target: '2001:db8::7', router, solicited: false, override: true, targetMac: MAC },
      },
    ]);
  });
});

describe('when', () => {
  /** The times at which a responder that is called at these times announces. */
  function announcedAt(looks: readonly number[]): number[] {
    let announcing: AnnouncementState = { sinceMs: 1000, sent: 0 };
    return looks.filter((nowMs) => {
      const next = nextAnnouncement(announcing, nowMs);
      if (next.kind === 'now') announcing = next.after;
      return next.kind === 'now';
    });
  }

  test('at once, and three times more', () => {
    const looks = Array.from({ length: 100 }, (_, at) => 1000 + at * 50);
    expect(announcedAt(looks)).toEqual([1000, 1200, 2000, 4000]);
  });

  test('who looks at the times it is told misses none, and is told when it is over', () => {
    const sentMs: number[] = [];
    let announcing: AnnouncementState = { sinceMs: 1000, sent: 0 };
    let nowMs = 1000;
    for (;;) {
      const next = nextAnnouncement(announcing, nowMs);
      if (next.kind === 'done') break;
      if (next.kind === 'at') nowMs = next.atMs;
      else {
        sentMs.push(nowMs);
        announcing = next.after;
      }
    }
    expect(sentMs).toEqual([1000, 1200, 2000, 4000]);
  });

  test('what was missed is made good for once', () => {
    expect(announcedAt([2500, 2500, 3999, 4000, 9000])).toEqual([2500, 4000]);
    expect(announcedAt([90_000, 90_001])).toEqual([90_000]);
  });
});
