import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fuzzOctets } from '../packets/octets-fixture.ts';
import { answerDhcp, type DhcpAnswer } from './dhcp-server.ts';
import {
  encodeRequest,
  CLIENT,
  IP,
  KNOWN,
  RELAY,
  decodeReply,
  requestedOption,
  encodeFrame,
  server,
  parametersOption,
} from './dhcp-fixture.ts';

/** One line: what it is, to whom it goes, and which address it gives. */
function shown(answer: DhcpAnswer): string {
  if (answer.kind !== 'reply') return `${answer.kind}: ${answer.code}`;
  const { link, packet, udp, message } = decodeReply(answer);
  return `${answer.type} ${message.yiaddr} to ${packet.dst}:${udp.dport} at ${link.dstMac}`;
}

const ALL = '255.255.255.255:68 at ff:ff:ff:ff:ff:ff';

describe('what is answered, and to whom', () => {
  test.each<[string, Uint8Array, string]>([
    ['discover', encodeRequest('discover'), `offer ${IP} to ${IP}:68 at ${CLIENT}`],
    [
      'discover-asking-for-another',
      encodeRequest('discover', { options: [requestedOption('10.0.0.12')] }),
      `offer ${IP} to ${IP}:68 at ${CLIENT}`,
    ],
    [
      'discover-by-a-client-that-takes-only-broadcasts',
      encodeRequest('discover', { fields: { broadcast: true } }),
      `offer ${IP} to ${ALL}`,
    ],
    [
      'discover-with-an-address-of-another',
      encodeRequest('discover', { fields: { ciaddr: '10.0.0.12' } }),
      `offer ${IP} to ${IP}:68 at ${CLIENT}`,
    ],
    [
      'discover-by-relay',
      encodeRequest('discover', { fields: { giaddr: '10.0.0.9' }, src: '10.0.0.9', dst: '10.0.0.2', srcMac: RELAY }),
      `offer ${IP} to 10.0.0.9:67 at ${RELAY}`,
    ],
    [
      'selecting',
      encodeRequest('request', { options: [requestedOption(IP), server('10.0.0.2')] }),
      `ack ${IP} to ${IP}:68 at ${CLIENT}`,
    ],
    [
      'selecting-by-a-client-that-takes-only-broadcasts',
      encodeRequest('request', { fields: { broadcast: true }, options: [requestedOption(IP), server('10.0.0.2')] }),
      `ack ${IP} to ${ALL}`,
    ],
    [
      'selecting-another-address',
      encodeRequest('request', { options: [requestedOption('10.0.0.12'), server('10.0.0.2')] }),
      `nak 0.0.0.0 to ${ALL}`,
    ],
    [
      'selecting-another-server',
      encodeRequest('request', { options: [requestedOption('10.0.0.99'), server('10.0.0.3')] }),
      'silence: other-server',
    ],
    ['init-reboot', encodeRequest('request', { options: [requestedOption(IP)] }), `ack ${IP} to ${IP}:68 at ${CLIENT}`],
    [
      'init-reboot-elsewhere',
      encodeRequest('request', { options: [requestedOption('192.168.1.5')] }),
      `nak 0.0.0.0 to ${ALL}`,
    ],
    [
      'init-reboot-elsewhere-by-relay',
      encodeRequest('request', {
        fields: { giaddr: '10.0.0.9' },
        options: [requestedOption('192.168.1.5')],
        srcMac: RELAY,
      }),
      `nak 0.0.0.0 to 10.0.0.9:67 at ${RELAY}`,
    ],
    [
      'renewing',
      encodeRequest('request', { fields: { ciaddr: IP }, src: IP, dst: '10.0.0.2' }),
      `ack ${IP} to ${IP}:68 at ${CLIENT}`,
    ],
    [
      'renewing-with-broadcast-flag',
      encodeRequest('request', { fields: { ciaddr: IP, broadcast: true }, src: IP, dst: '10.0.0.2' }),
      `ack ${IP} to ${IP}:68 at ${CLIENT}`,
    ],
    [
      'renewing-an-address-of-another',
      encodeRequest('request', { fields: { ciaddr: '10.0.0.12' }, src: '10.0.0.12', dst: '10.0.0.2' }),
      `nak 0.0.0.0 to ${ALL}`,
    ],
    ['rebinding', encodeRequest('request', { fields: { ciaddr: IP }, src: IP }), `ack ${IP} to ${IP}:68 at ${CLIENT}`],
    [
      'rebinding-to-the-subnet',
      encodeRequest('request', { fields: { ciaddr: IP }, src: IP, dst: '10.0.0.255' }),
      `ack ${IP} to ${IP}:68 at ${CLIENT}`,
    ],
    [
      'asking-for-its-own-with-another',
      encodeRequest('request', { fields: { ciaddr: '10.0.0.12' }, options: [requestedOption(IP)] }),
      `nak 0.0.0.0 to ${ALL}`,
    ],
    ['request-for-nothing', encodeRequest('request'), 'silence: no-address-requested'],
    ['inform', encodeRequest('inform', { fields: { ciaddr: IP }, src: IP }), `ack 0.0.0.0 to ${IP}:68 at ${CLIENT}`],
    ['inform-without-address', encodeRequest('inform', { src: IP }), `ack 0.0.0.0 to ${IP}:68 at ${CLIENT}`],
    [
      'inform-with-an-address-of-another',
      encodeRequest('inform', { fields: { ciaddr: '10.0.0.12' }, src: IP }),
      'silence: address-mismatch',
    ],
    ['decline', encodeRequest('decline', { options: [requestedOption(IP), server('10.0.0.2')] }), 'noted: declined'],
    [
      'decline-to-another',
      encodeRequest('decline', { options: [requestedOption(IP), server('10.0.0.3')] }),
      'silence: other-server',
    ],
    [
      'release',
      encodeRequest('release', { fields: { ciaddr: IP }, options: [server('10.0.0.2')], src: IP, dst: '10.0.0.2' }),
      'noted: released',
    ],
    [
      'release-to-another',
      encodeRequest('release', { fields: { ciaddr: IP }, options: [server('10.0.0.3')] }),
      'silence: other-server',
    ],
    [
      'unknown-mac',
      encodeRequest('discover', { fields: { mac: '02:00:00:00:00:ff' }, srcMac: '02:00:00:00:00:ff' }),
      'silence: unknown-mac',
    ],
    ['mac-of-another', encodeRequest('discover', { fields: { mac: '02:00:00:00:00:0c' } }), 'silence: mac-mismatch'],
    [
      'relay-of-another-subnet',
      encodeRequest('discover', { fields: { giaddr: '10.0.1.9' }, srcMac: RELAY }),
      'silence: other-subnet',
    ],
    ['to-another-server', encodeRequest('discover', { dst: '10.0.0.3' }), 'silence: not-for-us'],
    ['to-another-port', encodeRequest('discover', { dport: 68 }), 'silence: other-protocol'],
    ['a-servers-word', encodeRequest('offer', { fields: { op: 'reply' } }), 'silence: not-for-us'],
    ['a-servers-word-as-a-clients', encodeRequest('offer'), 'silence: not-for-us'],
    ['no-type', encodeRequest('discover', { fields: { options: new Map() } }), 'silence: not-for-us'],
    ['cut-short', encodeRequest('discover').subarray(0, 200), 'silence: truncated'],
  ])('%s', (_name, frame, line) => {
    expect(shown(answerDhcp(frame, KNOWN))).toBe(line);
  });
});

describe('never', () => {
  test('a client is never answered with another address than its own, whatever it sends', () => {
    const good = encodeRequest('request', {
      options: [requestedOption(IP), server('10.0.0.2'), parametersOption(1, 3, 6)],
    });
    const messages = fuzzOctets([good.subarray(42), encodeRequest('discover').subarray(42)]);
    fc.assert(
      fc.property(messages, fc.constantFrom(...KNOWN.reservations.keys(), RELAY), (payload, srcMac) => {
        const answer = answerDhcp(encodeFrame(payload.slice(0, 1472), { srcMac }), KNOWN);
        if (answer.kind !== 'reply') return;
        const { message } = decodeReply(answer);
        expect(['0.0.0.0', KNOWN.reservations.get(message.mac)?.ip]).toContain(message.yiaddr);
        expect(['0.0.0.0', KNOWN.reservations.get(message.mac)?.ip]).toContain(message.ciaddr);
      }),
      { numRuns: 500 },
    );
  });

  test('a frame from nowhere makes it throw', () => {
    fc.assert(
      fc.property(fuzzOctets([encodeRequest('discover'), encodeRequest('inform', { vlan: 3 })]), (frame) => {
        expect(['reply', 'noted', 'silence']).toContain(answerDhcp(frame, KNOWN).kind);
      }),
      { numRuns: 300 },
    );
  });
});
