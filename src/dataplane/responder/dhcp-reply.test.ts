import { describe, expect, test } from 'vitest';
import { addressIn, DHCP_OPTION, textIn } from '../packets/dhcp-options.ts';
import { toHex } from '../packets/octets-fixture.ts';
import { answerDhcp } from './dhcp-server.ts';
import {
  encodeRequest,
  CLIENT,
  IP,
  KNOWN,
  RELAY,
  decodeReply,
  requestedOption,
  SERVER,
  parametersOption,
} from './dhcp-fixture.ts';

describe('what is in it', () => {
  /** Every option, by its code. */
  function options(frame: Uint8Array, known = KNOWN): Record<number, string> {
    const { message } = decodeReply(answerDhcp(frame, known));
    return Object.fromEntries([...message.options].map(([code, octets]) => [code, toHex(octets)]));
  }

  test('an offer to a client that does not say what it wants has everything', () => {
    const { link, packet, udp, message } = decodeReply(answerDhcp(encodeRequest('discover'), KNOWN));
    expect(link.srcMac).toBe(SERVER);
    expect(packet.src).toBe('10.0.0.2');
    expect(udp.sport).toBe(67);
    expect(message).toMatchObject({ op: 'reply', xid: 0x12345678, mac: CLIENT, ciaddr: '0.0.0.0', secs: 0 });
    expect(options(encodeRequest('discover'))).toMatchInlineSnapshot(`
      {
        "1": "ffffff00",
        "12": "766d31",
        "15": "626c75652e6578616d706c65",
        "26": "0578",
        "3": "0a000001",
        "51": "00000e10",
        "53": "02",
        "54": "0a000002",
        "58": "00000708",
        "59": "00000c4e",
        "6": "c0000235c0000236",
      }
    `);
    expect(textIn(message.options, DHCP_OPTION.hostname)).toBe('vm1');
    expect(textIn(message.options, DHCP_OPTION.domain)).toBe('blue.example');
  });

  test('a client that says what it wants is told that, the mask and the MTU', () => {
    const reply = options(
      encodeRequest('request', { options: [requestedOption(IP), parametersOption(DHCP_OPTION.router)] }),
    );
    expect(Object.keys(reply).map(Number)).toEqual([1, 3, 26, 51, 53, 54, 58, 59]);
  });

  test('routes are said to those who ask for them, with the one by the gateway among them', () => {
    const known = { ...KNOWN, routes: [{ cidr: '169.254.169.254/32', via: '10.0.0.2' }] };
    const reply = options(encodeRequest('discover', { options: [parametersOption(DHCP_OPTION.routes)] }), known);
    expect(reply[DHCP_OPTION.routes]).toBe('20a9fea9fe0a000002000a000001');
    expect(
      options(encodeRequest('discover', { options: [parametersOption(DHCP_OPTION.router)] }), known),
    ).not.toHaveProperty('121');
  });

  test('what a subnet does not have is not said', () => {
    const { gateway: _gateway, dns: _dns, domain: _domain, ...bare } = KNOWN;
    const said = options(encodeRequest('discover'), { ...bare, reservations: new Map([[CLIENT, { ip: IP }]]) });
    expect(Object.keys(said).map(Number)).toEqual([1, 26, 51, 53, 54, 58, 59]);
  });

  test('a refusal says who refuses, and nothing more', () => {
    const said = options(
      encodeRequest('request', {
        options: [requestedOption('10.0.0.12'), [DHCP_OPTION.clientId, Uint8Array.of(1, 2)]],
      }),
    );
    expect(said).toEqual({ 53: '06', 54: '0a000002', 61: '0102' });
  });

  test('a relay gets a refusal with the flag that makes it broadcast it', () => {
    const fields = { giaddr: '10.0.0.9' };
    const frame = encodeRequest('request', { fields, options: [requestedOption('10.0.0.12')], srcMac: RELAY });
    expect(decodeReply(answerDhcp(frame, KNOWN)).message).toMatchObject({
      broadcast: true,
      giaddr: '10.0.0.9',
      ciaddr: '0.0.0.0',
    });
  });

  test('who has an address already is not told for how long', () => {
    const said = options(encodeRequest('inform', { fields: { ciaddr: IP }, src: IP }));
    expect(said).not.toHaveProperty('51');
    expect(said).not.toHaveProperty('58');
    expect(said).not.toHaveProperty('59');
    expect(said[DHCP_OPTION.dns]).toBe('c0000235c0000236');
  });

  test('the client’s id comes back, and what a relay added comes back to it as the last', () => {
    const relayed = [
      [DHCP_OPTION.clientId, Uint8Array.of(255, 1)] as const,
      [DHCP_OPTION.relay, Uint8Array.of(1, 1, 7)] as const,
    ];
    const { message } = decodeReply(
      answerDhcp(encodeRequest('discover', { fields: { giaddr: '10.0.0.9' }, options: relayed, srcMac: RELAY }), KNOWN),
    );
    expect(toHex(message.options.get(DHCP_OPTION.clientId)!)).toBe('ff01');
    expect([...message.options].at(-1)).toEqual(relayed[1]);
    expect(options(encodeRequest('discover', { options: relayed }))).not.toHaveProperty('82');
  });

  test('an answer goes back in the VLAN that the question came in', () => {
    expect(decodeReply(answerDhcp(encodeRequest('discover', { vlan: 42 }), KNOWN)).link.vlan).toBe(42);
  });

  test('what does not fit is left out, what must be is not', () => {
    const dns = Array.from({ length: 60 }, (_, at) => `192.0.2.${at}`);
    const known = { ...KNOWN, dns, domain: 'x'.repeat(100) };
    const frame = encodeRequest('discover');
    const small = decodeReply(answerDhcp(frame, known));
    expect(small.udp.payload.length + 28).toBeLessThanOrEqual(576);
    expect(small.message.options.get(DHCP_OPTION.domain)).toBeUndefined();
    expect(addressIn(small.message.options, DHCP_OPTION.router)).toBe('10.0.0.1');
    const roomy = encodeRequest('discover', { options: [[DHCP_OPTION.maximumSize, Uint8Array.of(5, 220)]] });
    expect(decodeReply(answerDhcp(roomy, known)).message.options.get(DHCP_OPTION.domain)).toHaveLength(100);
    // The client may take more than the network carries.
    const narrow = decodeReply(answerDhcp(roomy, { ...known, mtu: 600 }));
    expect(narrow.packet.payload.length + 20).toBeLessThanOrEqual(600);
  });
});
