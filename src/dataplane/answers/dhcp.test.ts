import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fuzzed } from '../packets/octets-fixture.ts';
import { answerDhcp, type DhcpAnswer } from './dhcp.ts';
import { ask, CLIENT, IP, KNOWN, RELAY, replyOf, requested, sent, server, wants } from './dhcp-fixture.ts';

/** One line: what it is, to whom it goes, and which address it gives. */
function shown(answer: DhcpAnswer): string {
  if (answer.kind !== 'reply') return `${answer.kind}: ${answer.code}`;
  const { link, packet, udp, message } = replyOf(answer);
  return `${answer.type} ${message.yiaddr} to ${packet.dst}:${udp.dport} at ${link.dstMac}`;
}

const ALL = '255.255.255.255:68 at ff:ff:ff:ff:ff:ff';

describe('what is answered, and to whom', () => {
  test.each<[string, Uint8Array, string]>([
    ['discover', ask('discover'), `offer ${IP} to ${IP}:68 at ${CLIENT}`],
    [
      'discover-asking-for-another',
      ask('discover', { options: [requested('10.0.0.12')] }),
      `offer ${IP} to ${IP}:68 at ${CLIENT}`,
    ],
    ['discover-hearing-only-broadcasts', ask('discover', { fields: { broadcast: true } }), `offer ${IP} to ${ALL}`],
    [
      'discover-with-an-address-of-another',
      ask('discover', { fields: { ciaddr: '10.0.0.12' } }),
      `offer ${IP} to ${IP}:68 at ${CLIENT}`,
    ],
    [
      'discover-by-relay',
      ask('discover', { fields: { giaddr: '10.0.0.9' }, src: '10.0.0.9', dst: '10.0.0.2', srcMac: RELAY }),
      `offer ${IP} to 10.0.0.9:67 at ${RELAY}`,
    ],
    [
      'selecting',
      ask('request', { options: [requested(IP), server('10.0.0.2')] }),
      `ack ${IP} to ${IP}:68 at ${CLIENT}`,
    ],
    [
      'selecting-hearing-only-broadcasts',
      ask('request', { fields: { broadcast: true }, options: [requested(IP), server('10.0.0.2')] }),
      `ack ${IP} to ${ALL}`,
    ],
    [
      'selecting-another-address',
      ask('request', { options: [requested('10.0.0.12'), server('10.0.0.2')] }),
      `nak 0.0.0.0 to ${ALL}`,
    ],
    [
      'selecting-another-server',
      ask('request', { options: [requested('10.0.0.99'), server('10.0.0.3')] }),
      'silence: other-server',
    ],
    ['init-reboot', ask('request', { options: [requested(IP)] }), `ack ${IP} to ${IP}:68 at ${CLIENT}`],
    ['init-reboot-elsewhere', ask('request', { options: [requested('192.168.1.5')] }), `nak 0.0.0.0 to ${ALL}`],
    [
      'init-reboot-elsewhere-by-relay',
      ask('request', { fields: { giaddr: '10.0.0.9' }, options: [requested('192.168.1.5')], srcMac: RELAY }),
      `nak 0.0.0.0 to 10.0.0.9:67 at ${RELAY}`,
    ],
    [
      'renewing',
      ask('request', { fields: { ciaddr: IP }, src: IP, dst: '10.0.0.2' }),
      `ack ${IP} to ${IP}:68 at ${CLIENT}`,
    ],
    [
      'renewing-with-broadcast-flag',
      ask('request', { fields: { ciaddr: IP, broadcast: true }, src: IP, dst: '10.0.0.2' }),
      `ack ${IP} to ${IP}:68 at ${CLIENT}`,
    ],
    [
      'renewing-an-address-of-another',
      ask('request', { fields: { ciaddr: '10.0.0.12' }, src: '10.0.0.12', dst: '10.0.0.2' }),
      `nak 0.0.0.0 to ${ALL}`,
    ],
    ['rebinding', ask('request', { fields: { ciaddr: IP }, src: IP }), `ack ${IP} to ${IP}:68 at ${CLIENT}`],
    [
      'rebinding-to-the-subnet',
      ask('request', { fields: { ciaddr: IP }, src: IP, dst: '10.0.0.255' }),
      `ack ${IP} to ${IP}:68 at ${CLIENT}`,
    ],
    [
      'asking-for-its-own-with-another',
      ask('request', { fields: { ciaddr: '10.0.0.12' }, options: [requested(IP)] }),
      `nak 0.0.0.0 to ${ALL}`,
    ],
    ['request-for-nothing', ask('request'), 'silence: no-address-asked'],
    ['inform', ask('inform', { fields: { ciaddr: IP }, src: IP }), `ack 0.0.0.0 to ${IP}:68 at ${CLIENT}`],
    ['inform-without-address', ask('inform', { src: IP }), `ack 0.0.0.0 to ${IP}:68 at ${CLIENT}`],
    [
      'inform-with-an-address-of-another',
      ask('inform', { fields: { ciaddr: '10.0.0.12' }, src: IP }),
      'silence: not-its-address',
    ],
    ['decline', ask('decline', { options: [requested(IP), server('10.0.0.2')] }), 'noted: declined'],
    ['decline-to-another', ask('decline', { options: [requested(IP), server('10.0.0.3')] }), 'silence: other-server'],
    [
      'release',
      ask('release', { fields: { ciaddr: IP }, options: [server('10.0.0.2')], src: IP, dst: '10.0.0.2' }),
      'noted: released',
    ],
    [
      'release-to-another',
      ask('release', { fields: { ciaddr: IP }, options: [server('10.0.0.3')] }),
      'silence: other-server',
    ],
    [
      'unknown-mac',
      ask('discover', { fields: { mac: '02:00:00:00:00:ff' }, srcMac: '02:00:00:00:00:ff' }),
      'silence: unknown-mac',
    ],
    ['mac-of-another', ask('discover', { fields: { mac: '02:00:00:00:00:0c' } }), 'silence: borrowed-mac'],
    [
      'relay-of-another-subnet',
      ask('discover', { fields: { giaddr: '10.0.1.9' }, srcMac: RELAY }),
      'silence: other-subnet',
    ],
    ['to-another-server', ask('discover', { dst: '10.0.0.3' }), 'silence: not-for-us'],
    ['to-another-port', ask('discover', { dport: 68 }), 'silence: other-protocol'],
    ['a-servers-word', ask('offer', { fields: { op: 'reply' } }), 'silence: not-for-us'],
    ['a-servers-word-as-a-clients', ask('offer'), 'silence: not-for-us'],
    ['no-type', ask('discover', { fields: { options: new Map() } }), 'silence: not-for-us'],
    ['cut-short', ask('discover').subarray(0, 200), 'silence: truncated'],
  ])('%s', (_name, frame, line) => {
    expect(shown(answerDhcp(frame, KNOWN))).toBe(line);
  });
});

describe('never', () => {
  test('a client hears of another address than its own, whatever it sends', () => {
    const good = ask('request', { options: [requested(IP), server('10.0.0.2'), wants(1, 3, 6)] });
    const messages = fuzzed([good.subarray(42), ask('discover').subarray(42)]);
    fc.assert(
      fc.property(messages, fc.constantFrom(...KNOWN.ports.keys(), RELAY), (payload, srcMac) => {
        const answer = answerDhcp(sent(payload.slice(0, 1472), { srcMac }), KNOWN);
        if (answer.kind !== 'reply') return;
        const { message } = replyOf(answer);
        expect(['0.0.0.0', KNOWN.ports.get(message.mac)?.ip]).toContain(message.yiaddr);
        expect(['0.0.0.0', KNOWN.ports.get(message.mac)?.ip]).toContain(message.ciaddr);
      }),
      { numRuns: 500 },
    );
  });

  test('a frame from nowhere makes it throw', () => {
    fc.assert(
      fc.property(fuzzed([ask('discover'), ask('inform', { vlan: 3 })]), (frame) => {
        expect(['reply', 'noted', 'silence']).toContain(answerDhcp(frame, KNOWN).kind);
      }),
      { numRuns: 300 },
    );
  });
});
