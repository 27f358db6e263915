import { describe, expect, test } from 'vitest';
import { SimulatedSwitch } from './simulated-driver.ts';
import { conntrackContract } from './conntrack-contract.ts';
import { switchContract } from './contract.ts';
import { SwitchDown, type Flow, type SwitchChange } from './switch.ts';

switchContract('simulated', async () => {
  let text: string | undefined;
  const keep = {
    read: async () => text,
    write: async (now: string) => {
      text = now;
    },
  };
  const it = new SimulatedSwitch({ host: 'c1', keep });
  return {
    it,
    applyForeign: async (changes) => it.applyForeign(changes),
    reopen: async () => new SimulatedSwitch({ host: 'c1', keep }),
    ownPorts: async () => it.ownPorts,
    close: async () => undefined,
  };
});

conntrackContract('simulated', async () => ({
  it: new SimulatedSwitch({ host: 'c1' }),
  close: async () => undefined,
}));

const flow: Flow = { table: 0, priority: 0, match: '', actions: 'drop', cookie: '4d55000000000001' };
const put: SwitchChange = { kind: 'put-flow', flow };

describe('simulated switch', () => {
  test('has-an-identity-made-of-its-host-unless-one-is-given', async () => {
    const identity = await new SimulatedSwitch({ host: 'c1' }).identity();
    expect(identity).toEqual(await new SimulatedSwitch({ host: 'c1' }).identity());
    expect(identity.datapathId).not.toBe((await new SimulatedSwitch({ host: 'c2' }).identity()).datapathId);
    const configured = { datapathId: 'fedcba9876543210' };
    expect(await new SimulatedSwitch({ host: 'c1', identity: configured }).identity()).toEqual(configured);
  });

  test('does-not-answer-while-it-is-down', async () => {
    const it = new SimulatedSwitch({ host: 'c1' });
    it.faults.down = true;
    await expect(it.read()).rejects.toBeInstanceOf(SwitchDown);
    await expect(it.apply([put])).rejects.toBeInstanceOf(SwitchDown);
    await expect(it.identity()).rejects.toBeInstanceOf(SwitchDown);
    it.faults.down = false;
    expect((await it.read()).flows).toEqual([]);
  });

  test('loses-as-many-flows-as-it-was-told-to', async () => {
    const it = new SimulatedSwitch({ host: 'c1' });
    it.faults.losesFlows = 1;
    await it.apply([put, { kind: 'put-flow', flow: { ...flow, priority: 1 } }]);
    expect((await it.read()).flows).toEqual([{ ...flow, priority: 1 }]);
    await it.apply([put]);
    expect((await it.read()).flows).toHaveLength(2);
    expect(it.changes).toBe(2);
    expect(it.calls).toEqual(['apply', 'read', 'apply', 'read']);
  });

  test('is-slow-by-the-clock', async () => {
    const waits: number[] = [];
    const sleep = async (ms: number): Promise<void> => void waits.push(ms);
    const it = new SimulatedSwitch({ host: 'c1', clock: { nowMs: () => 0, sleep, turn: async () => undefined } });
    it.faults.slowMs = 70;
    await it.read();
    expect(waits).toEqual([70]);
  });

  test('reports-BFD-down-only-where-it-has-sessions', async () => {
    const peer = (host: string, address: string): SwitchChange => ({
      kind: 'put-tunnel',
      tunnel: { peer: host, address },
    });
    const without = new SimulatedSwitch({ host: 'c1' });
    await without.apply([peer('c2', '172.16.0.2')]);
    expect(await without.bfdDownPeers()).toBeUndefined();
    const it = new SimulatedSwitch({ host: 'c1', isBfdUp: (host) => host !== 'c3' });
    await it.apply([peer('c2', '172.16.0.2'), peer('c3', '172.16.0.3')]);
    expect(await it.bfdDownPeers()).toEqual(['c3']);
  });

  test.each(['', '{"flows":', '[]', 'null', '{}', '{"tunnels":[],"groups":[],"flows":{}}'])(
    'whose-file-is-damaged-has-lost-its-contents-and-is-set-up-again: %s',
    async (text) => {
      let stored = text;
      const keep = {
        read: async () => stored,
        write: async (next: string) => void (stored = next),
      };
      const damaged = new SimulatedSwitch({ host: 'c1', keep });
      expect(await damaged.read()).toEqual({ tunnels: [], groups: [], flows: [], externalIds: {} });
      expect(damaged.ownPorts).toEqual([]);
      await damaged.setUp();
      const again = new SimulatedSwitch({ host: 'c1', keep });
      await again.read();
      expect(again.ownPorts).not.toEqual([]);
    },
  );
});
