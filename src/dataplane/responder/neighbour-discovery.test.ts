import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { linkLocalOf, solicitedNodeOf } from '../packets/address.ts';
import { isMalformed } from '../packets/malformed.ts';
import type { NdMessage } from '../packets/nd.ts';
import { decodeNdFrame, encodeNdFrame, type NdFrame } from '../packets/nd-frame.ts';
import { fuzzOctets } from '../packets/octets-fixture.ts';
import { answerNd, unsolicitedRouterAdvertisement, type NdAnswer, type NdNetwork } from './neighbour-discovery.ts';

const GATEWAY = '02:00:00:00:00:01';
const SENDER_MAC = '02:00:00:00:00:0b';
const OTHER = '02:00:00:00:00:0c';
const FROM = '2001:db8::b';

const KNOWN: NdNetwork = {
  gateway: { mac: GATEWAY, addresses: ['2001:db8::1', '2001:db8:1::1'] },
  prefixes: [
    { cidr: '2001:db8::/64', addressing: 'managed' },
    { cidr: '2001:db8:1::/64', addressing: 'autonomous' },
  ],
  mtu: 1380,
  routerLifetimeS: 1800,
  ports: new Map([
    [FROM, SENDER_MAC],
    ['2001:db8::c', OTHER],
  ]),
};

function encodeQuery(
  message: NdMessage,
  way: { src?: string; dst?: string; srcMac?: string; vlan?: number } = {},
): Uint8Array {
  const {
    src = FROM,
    dst = 'target' in message ? solicitedNodeOf(message.target) : 'ff02::2',
    srcMac = SENDER_MAC,
    vlan,
  } = way;
  return encodeNdFrame({
    link: { srcMac, dstMac: GATEWAY, ...(vlan === undefined ? {} : { vlan }) },
    between: { src, dst },
    message,
  });
}

const solicit = (target: string): NdMessage => ({ kind: 'neighbour-solicitation', target });

function frameOf(answer: NdAnswer): NdFrame {
  if (answer.kind !== 'reply') throw new Error(answer.code);
  const frame = decodeNdFrame(answer.frame);
  if (isMalformed(frame)) throw new Error(frame.malformed);
  return frame;
}

function shown(answer: NdAnswer): string {
  if (answer.kind !== 'reply') return `silence: ${answer.code}`;
  const { link, between, message } = frameOf(answer);
  const to = `from ${between.src} ${link.srcMac} to ${between.dst} ${link.dstMac}`;
  if (message.kind !== 'neighbour-advertisement') return `${answer.type}: ${message.kind} ${to}`;
  const flags = ['router', 'solicited', 'override'].filter((flag) => message[flag as 'router']).join('+');
  return `${answer.type}: ${message.target} is at ${message.targetMac} (${flags}) ${to}`;
}

describe('who asks for a neighbour', () => {
  const toAsker = `to ${FROM} ${SENDER_MAC}`;
  const toAll = 'to ff02::1 33:33:00:00:00:01';
  const nowhere = { src: '::' };

  test.each<[string, Uint8Array, string]>([
    [
      'the-gateway',
      encodeQuery(solicit('2001:db8::1')),
      `neighbour: 2001:db8::1 is at ${GATEWAY} (router+solicited+override) from 2001:db8::1 ${GATEWAY} ${toAsker}`,
    ],
    [
      'the-gateway-of-the-second-subnet',
      encodeQuery(solicit('2001:db8:1::1')),
      `neighbour: 2001:db8:1::1 is at ${GATEWAY} (router+solicited+override) from 2001:db8:1::1 ${GATEWAY} ${toAsker}`,
    ],
    [
      'the-gateway-on-the-link',
      encodeQuery(solicit('fe80::ff:fe00:1')),
      `neighbour: fe80::ff:fe00:1 is at ${GATEWAY} (router+solicited+override) from fe80::ff:fe00:1 ${GATEWAY} ${toAsker}`,
    ],
    [
      'the-gateway-whether-it-is-still-there',
      encodeQuery(solicit('2001:db8::1'), { dst: '2001:db8::1' }),
      `neighbour: 2001:db8::1 is at ${GATEWAY} (router+solicited+override) from 2001:db8::1 ${GATEWAY} ${toAsker}`,
    ],
    [
      'a-port',
      encodeQuery(solicit('2001:db8::c')),
      `neighbour: 2001:db8::c is at ${OTHER} (solicited+override) from 2001:db8::c ${OTHER} ${toAsker}`,
    ],
    ['its-own-address', encodeQuery(solicit(FROM)), 'silence: own-address'],
    ['its-own-address-before-it-uses-it', encodeQuery(solicit(FROM), nowhere), 'silence: own-address'],
    [
      'anothers-address-for-itself',
      encodeQuery(solicit('2001:db8::c'), nowhere),
      `taken: 2001:db8::c is at ${OTHER} (override) from 2001:db8::c ${OTHER} ${toAll}`,
    ],
    [
      'the-gateways-address-for-itself',
      encodeQuery(solicit('2001:db8::1'), nowhere),
      `taken: 2001:db8::1 is at ${GATEWAY} (router+override) from 2001:db8::1 ${GATEWAY} ${toAll}`,
    ],
    ['an-unknown-address', encodeQuery(solicit('2001:db8::d')), 'silence: unknown-target'],
    ['an-unknown-address-for-itself', encodeQuery(solicit('fe80::1234'), nowhere), 'silence: unknown-target'],
    [
      'nothing',
      encodeQuery({ kind: 'neighbour-advertisement', target: FROM, router: false, solicited: false, override: true }),
      'silence: not-a-solicitation',
    ],
    ['nothing-at-all', new Uint8Array(10), 'silence: truncated'],
  ])('%s', (_name, frame, line) => {
    expect(shown(answerNd(frame, KNOWN))).toBe(line);
  });

  test('is answered in the VLAN that the question came in', () => {
    expect(frameOf(answerNd(encodeQuery(solicit('2001:db8::1'), { vlan: 9 }), KNOWN)).link.vlan).toBe(9);
  });
});

describe('who asks for a router', () => {
  const ADVERTISED = {
    kind: 'router-advertisement',
    hopLimit: 64,
    managed: true,
    other: false,
    lifetimeS: 1800,
    sourceMac: GATEWAY,
    mtu: 1380,
    prefixes: [
      { cidr: '2001:db8::/64', onLink: true, autonomous: false, validS: 2_592_000, preferredS: 604_800 },
      { cidr: '2001:db8:1::/64', onLink: true, autonomous: true, validS: 2_592_000, preferredS: 604_800 },
    ],
  };
  const FROM_GATEWAY = linkLocalOf(GATEWAY);

  test('is answered with the gateway and the prefixes', () => {
    const answer = answerNd(
      encodeQuery({ kind: 'router-solicitation', sourceMac: SENDER_MAC }, { src: 'fe80::b' }),
      KNOWN,
    );
    expect(frameOf(answer)).toMatchObject({
      link: { srcMac: GATEWAY, dstMac: SENDER_MAC },
      between: { src: FROM_GATEWAY, dst: 'fe80::b' },
      message: ADVERTISED,
    });
  });

  test('from nowhere is answered together with all others', () => {
    const answer = answerNd(encodeQuery({ kind: 'router-solicitation' }, { src: '::' }), KNOWN);
    expect(frameOf(answer)).toMatchObject({ link: { dstMac: '33:33:00:00:00:01' }, between: { dst: 'ff02::1' } });
  });

  test('gets nothing where there is no gateway', () => {
    const { gateway: _gateway, ...without } = KNOWN;
    expect(answerNd(encodeQuery({ kind: 'router-solicitation' }), without)).toEqual({
      kind: 'silence',
      code: 'no-gateway',
    });
    expect(unsolicitedRouterAdvertisement(without)).toBeUndefined();
  });

  test('and without a question the same is announced from time to time', () => {
    const frame = decodeNdFrame(unsolicitedRouterAdvertisement(KNOWN)!);
    expect(frame).toMatchObject({
      link: { srcMac: GATEWAY, dstMac: '33:33:00:00:00:01' },
      between: { src: FROM_GATEWAY, dst: 'ff02::1' },
      message: ADVERTISED,
    });
  });

  test('is not sent to look for addresses elsewhere when all prefixes are for instances to use', () => {
    const known = { ...KNOWN, prefixes: KNOWN.prefixes.slice(1) };
    expect(decodeNdFrame(unsolicitedRouterAdvertisement(known)!)).toMatchObject({ message: { managed: false } });
  });
});

test('never: a frame from nowhere makes it throw', () => {
  const good = [encodeQuery(solicit('2001:db8::1')), encodeQuery({ kind: 'router-solicitation' }, { vlan: 3 })];
  fc.assert(
    fc.property(fuzzOctets(good), (frame) => {
      expect(['reply', 'silence']).toContain(answerNd(frame, KNOWN).kind);
    }),
    { numRuns: 300 },
  );
});
