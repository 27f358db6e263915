// Every back end passes the one contract suite; and the outcome of a back end's reply.
import { describe, expect, test } from 'vitest';
import { capabilitiesOf } from './back-end.ts';
import { backEndContracts } from './contract.ts';
import { replyOutcome } from './reply.ts';
import { fleetWith, network } from '../network-fixture.ts';

backEndContracts();

describe('replies', () => {
  test.each([
    [{ status: 200, type: 'ovs' }, 'ok'],
    [{ status: 200, type: 'binding_failed' }, 'binding-failed'],
    [{ status: 200, type: 'unbound' }, 'binding-failed'],
    [{ status: 200 }, 'binding-failed'],
    [{ status: 404 }, 'not-found'],
    [{ status: 403 }, 'forbidden'],
    [{ status: 413 }, 'quota'],
    [{ status: 409, code: 'OverQuota' }, 'quota'],
    [{ status: 409, code: 'IpAddressGenerationFailure' }, 'pool-empty'],
    [{ status: 409, code: 'HostNotConnectedToAnySegment' }, 'mapping-gone'],
    [{ status: 409, code: 'HostNotCompatibleWithFixedIps' }, 'address-not-carried'],
    [{ status: 409, code: 'SomethingNew' }, 'taken'],
    [{ status: 400 }, 'forbidden'],
    [{ status: 429 }, 'unavailable'],
    [{ status: 500 }, 'unavailable'],
    [{ status: 503 }, 'unavailable'],
  ] as const)('a reply to a bind of %j is %s', (reply, outcome) => {
    expect(replyOutcome(reply, 'binding')).toBe(outcome);
  });

  test('a-port-that-is-only-made-need-not-be-connected', () => {
    expect(replyOutcome({ status: 201 }, 'success')).toBe('ok');
  });
});

test('capabilities-are-those-of-the-network-of-the-port', () => {
  const fleet = fleetWith(network('n', { backEnd: 'simulated' }));
  expect(capabilitiesOf(fleet, 'n')).toMatchObject({ inline: false, events: true, needsCredentials: true });
  expect(capabilitiesOf(fleet, 'gone')).toMatchObject({ inline: true });
});
