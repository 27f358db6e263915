// The contract suite of a move's orders to a back end: the target is bound before anything leaves the source, activated when it has, and unbound
// again when the move fails. How differs with `multipleBindings`; that nothing is lost on the way does not.
import { describe, expect, test } from 'vitest';
import { CAPABILITIES, type OrderResult } from './back-end.ts';
import { harnessOf, NonInlineHarness, type JournalHarness } from './contract-world.ts';
import { bindPorts } from '../ports/bind.ts';
import type { BackEndName } from '../model.ts';
import type { PoolKey } from '../ports/nic-requirements.ts';
import type { StoredPort } from '../networks/topology.ts';

const SEG0: PoolKey = 'segment:seg0';
const SEG2: PoolKey = 'segment:seg2';
const PORT = 'a';

interface MoveTarget {
  readonly host: string;
  readonly pool: PoolKey;
}

/** The steps of a move with one port. Answers are `ok` or the code of the fault. */
interface Mover {
  /** Binds the target; nothing has left the source. Under a serial of its own, unless the previous one is given. */
  prepare(at: MoveTarget, again?: 'again'): Promise<string>;
  /** The source has migrated the instance away. */
  switchOver(at: MoveTarget): Promise<string>;
  /** The try failed: `source` is where the port belongs. */
  rollBack(at: MoveTarget, source: MoveTarget): Promise<string>;
  /** The move is done: the rest at the source is removed. */
  finish(source: MoveTarget): Promise<string>;
  /** The host at which the back end has the port connected, and all hosts with a binding. */
  bindings(): { readonly active: string | undefined; readonly all: readonly string[] };
}

/** The journal binds in the commit that activates: until then the binding exists only in the plan. */
function inlineMover(back: JournalHarness): Mover {
  const bind = (at: MoveTarget) => {
    const bindRequest = { port: back.stored(PORT) as StoredPort, pool: at.pool };
    return bindPorts(back.fleet, [bindRequest], { host: at.host, by: 'test', nowMs: 7 });
  };
  const answer = (bound: ReturnType<typeof bind>): string => (bound.kind === 'fault' ? bound.fault.code : 'ok');
  return {
    prepare: async (at) => answer(bind(at)),
    switchOver: async (at) => {
      const bound = bind(at);
      if (bound.kind === 'bound') back.put(bound.ports);
      return answer(bound);
    },
    rollBack: async () => 'ok',
    finish: async () => 'ok',
    bindings: () => {
      const active = back.heldPort(PORT)?.host;
      return { active, all: active === undefined ? [] : [active] };
    },
  };
}

function nonInlineMover(back: NonInlineHarness, isDouble: boolean): Mover {
  const stored = (): StoredPort => back.stored(PORT) as StoredPort;
  const nextSerial = (): void =>
    back.put([{ id: stored().id, doc: { ...stored().doc, serial: stored().doc.serial + 1 } }]);
  const outcome = (carried: OrderResult): string =>
    carried.kind === 'stale' ? 'stale' : (carried.ports[0]?.outcome ?? 'ok');
  const order = ({ host, pool }: MoveTarget) => ({
    ...back.header,
    host,
    ports: [back.composeBind({ port: PORT, pool })],
  });
  const recorded = (at: MoveTarget, carried: OrderResult): string => {
    const said = outcome(carried);
    if (said === 'ok' && carried.kind !== 'stale')
      back.recordBound(at.host, [{ port: PORT, pool: at.pool }], carried.ports);
    return said;
  };
  const old = ({ host }: MoveTarget) => {
    const { serial, nic = 0 } = stored().doc;
    return { ...back.header, op: 'delete-binding', host, ports: [{ port: PORT, nic, serial }] } as const;
  };
  return {
    prepare: async (at, again) => {
      if (again === undefined) nextSerial();
      if (isDouble) return outcome(await back.network.addBinding({ ...order(at), op: 'add-binding' }, back.fence));
      return outcome(await back.network.bind({ ...order(at), op: 'bind' }, back.fence));
    },
    switchOver: async (at) => {
      const request = order(at);
      if (!isDouble) return recorded(at, await back.network.bind({ ...request, op: 'bind' }, back.fence));
      return recorded(at, await back.network.activateBinding({ ...request, op: 'activate-binding' }, back.fence));
    },
    rollBack: async (at, source) => {
      if (isDouble) return outcome(await back.network.deleteBinding(old(at), back.fence));
      nextSerial();
      return recorded(source, await back.network.bind({ ...order(source), op: 'bind' }, back.fence));
    },
    finish: async (source) => (isDouble ? outcome(await back.network.deleteBinding(old(source), back.fence)) : 'ok'),
    bindings: () => {
      const there = back.network.port(PORT);
      const all = [there?.binding, there?.inactive].flatMap((one) => one?.host ?? []);
      return { active: there?.binding?.host, all: all.sort() };
    },
  };
}

const H2: MoveTarget = { host: 'h2', pool: SEG0 };
const H4: MoveTarget = { host: 'h4', pool: SEG0 };
const H5: MoveTarget = { host: 'h5', pool: SEG0 };

export function backEndMoveContract(name: BackEndName): void {
  const { inline, multipleBindings } = CAPABILITIES[name];
  const isDouble = !inline && multipleBindings;

  /** A port with addresses of its own that is bound at h2. */
  async function start(): Promise<{
    readonly back: JournalHarness;
    readonly mover: Mover;
    readonly ips: readonly string[];
  }> {
    const back = harnessOf(name);
    await back.create({ port: PORT, network: 'routed', fixedIp: { ip: '10.0.0.13', subnet: 's0' } });
    expect(await back.bind(H2.host, [{ port: PORT, pool: H2.pool }])).toBe('ok');
    const mover = back instanceof NonInlineHarness ? nonInlineMover(back, isDouble) : inlineMover(back);
    return { back, mover, ips: back.heldPort(PORT)?.ips ?? [] };
  }

  describe(`${name}, moving a port`, () => {
    test('a-target-is-made-sure-of-before-the-port-leaves-its-host', async () => {
      const { mover } = await start();
      expect(await mover.prepare(H4)).toBe('ok');
      expect(mover.bindings()).toEqual({
        active: inline || isDouble ? 'h2' : 'h4',
        all: isDouble ? ['h2', 'h4'] : inline ? ['h2'] : ['h4'],
      });
    });

    test('a-target-that-cannot-carry-the-address-is-refused-and-changes-nothing', async () => {
      const { mover, back, ips } = await start();
      expect(await mover.prepare({ host: 'h3', pool: SEG2 })).toBe('address-not-carried');
      expect(mover.bindings()).toEqual({ active: 'h2', all: ['h2'] });
      expect(back.heldPort(PORT)).toMatchObject({ ips, host: 'h2' });
    });

    test('switched-over-it-is-connected-at-the-target-with-what-it-had, and the source keeps nothing in the end', async () => {
      const { mover, back, ips } = await start();
      await mover.prepare(H4);
      expect(await mover.switchOver(H4)).toBe('ok');
      expect(mover.bindings().active).toBe('h4');
      expect(await mover.finish(H2)).toBe('ok');
      expect(mover.bindings()).toEqual({ active: 'h4', all: ['h4'] });
      expect(back.heldPort(PORT)).toMatchObject({ ips, host: 'h4', segment: 'seg0' });
    });

    test('every-order-may-come-twice', async () => {
      const { mover } = await start();
      expect([await mover.prepare(H4), await mover.prepare(H4, 'again')]).toEqual(['ok', 'ok']);
      expect([await mover.switchOver(H4), await mover.switchOver(H4)]).toEqual(['ok', 'ok']);
      expect([await mover.finish(H2), await mover.finish(H2)]).toEqual(['ok', 'ok']);
      expect(mover.bindings()).toEqual({ active: 'h4', all: ['h4'] });
    });

    test('a-try-that-comes-to-nothing-leaves-it-connected-where-it-was', async () => {
      const { mover, back, ips } = await start();
      await mover.prepare(H4);
      expect(await mover.rollBack(H4, H2)).toBe('ok');
      expect(mover.bindings()).toEqual({ active: 'h2', all: ['h2'] });
      expect(back.heldPort(PORT)).toMatchObject({ ips, host: 'h2' });
      expect(await mover.prepare(H5)).toBe('ok');
      expect(await mover.switchOver(H5)).toBe('ok');
      await mover.finish(H2);
      expect(mover.bindings()).toEqual({ active: 'h5', all: ['h5'] });
    });

    test('a-later-try-takes-the-place-of-the-binding-that-an-earlier-one-left', async () => {
      const { mover } = await start();
      await mover.prepare(H4);
      expect(await mover.prepare(H5)).toBe('ok');
      expect(mover.bindings().all).toEqual(isDouble ? ['h2', 'h5'] : inline ? ['h2'] : ['h5']);
    });

    test('never: the end of a move takes the binding that is active', async () => {
      const { mover } = await start();
      await mover.prepare(H4);
      await mover.switchOver(H4);
      expect(await mover.finish(H4)).toBe('ok');
      expect(mover.bindings().active).toBe('h4');
    });

    test('unbind-takes-all-of-its-bindings', async () => {
      const { mover, back } = await start();
      await mover.prepare(H4);
      expect(await back.unbind(PORT)).toBe('ok');
      expect(mover.bindings()).toEqual({ active: undefined, all: [] });
    });
  });

  // Not a skipped suite: for a back end with one binding there is nothing to test here.
  if (!isDouble) return;
  describe(`${name}, two bindings`, () => {
    test('a-binding-that-was-lost-is-made-anew-when-it-is-switched-to', async () => {
      const { mover, back } = await start();
      await mover.prepare(H4);
      await (back as NonInlineHarness).network.deleteBinding(
        {
          ...(back as NonInlineHarness).header,
          op: 'delete-binding',
          host: 'h4',
          ports: [{ port: PORT, nic: 1, serial: 99 }],
        },
        (back as NonInlineHarness).fence,
      );
      back.put([
        { id: back.stored(PORT)!.id, doc: { ...back.stored(PORT)!.doc, serial: back.stored(PORT)!.doc.serial + 1 } },
      ]);
      expect(await mover.switchOver(H4)).toBe('ok');
      expect(mover.bindings().active).toBe('h4');
    });

    test('never: a late order of a failed try activates its binding', async () => {
      const { mover } = await start();
      await mover.prepare(H4);
      await mover.rollBack(H4, H2);
      expect(await mover.switchOver(H4)).toBe('stale');
      expect(await mover.prepare(H4, 'again')).toBe('stale');
      expect(mover.bindings()).toEqual({ active: 'h2', all: ['h2'] });
    });
  });
}
