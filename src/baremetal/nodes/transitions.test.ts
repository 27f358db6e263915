// Every transition from every state: what the table has, what is refused by name, and what becomes of epoch, manager and data.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { idOf, put } from '../../fleet/index.ts';
import { bucketOf, NODE, NODE_STATES, NODE_TRANSITIONS, type Node, type NodeState } from '../model.ts';
import { BY, commit, newFleet, node, nodeOf, stored, USED } from '../nodes-fixture.ts';
import {
  abandonClean,
  acquire,
  beginClean,
  beginDeploy,
  confirmClean,
  failClean,
  finishClean,
  finishDeploy,
  isRefused,
  releaseUnused,
  removeNode,
  reserve,
  reviveNode,
  setOffered,
  type StoredNode,
  type TransitionResult,
} from './transitions.ts';

const FAULT = { code: 'no-answer', message: 'The machine does not answer.', atMs: 7 };
const DATA = { dirty: true } as const;

/** A node as it is in each state. */
const IN_STATE: Readonly<Record<NodeState, Node>> = {
  available: node(),
  reserved: node({ state: 'reserved', epoch: 4, ...USED }),
  deploying: node({ state: 'deploying', epoch: 4, ...USED, ...DATA }),
  active: node({ state: 'active', epoch: 4, power: 'on', ...USED, ...DATA }),
  cleaning: node({ state: 'cleaning', epoch: 4, ...USED, ...DATA }),
  'clean-failed': node({ state: 'clean-failed', epoch: 4, fault: FAULT, ...USED, ...DATA }),
  unavailable: node({ state: 'unavailable' }),
  removed: node({ state: 'removed', power: 'unknown', epoch: 4 }),
};

const TRANSITIONS: Readonly<Record<string, (node: StoredNode) => TransitionResult>> = {
  reserve: (one) => reserve(one, { instance: 'i1', manager: 'm1', managerEpoch: 3, ...BY }),
  beginDeploy: (one) => beginDeploy(one, BY),
  finishDeploy: (one) => finishDeploy(one, BY),
  beginClean: (one) => beginClean(one, BY),
  finishClean: (one) => finishClean(one, { ...BY, isOffered: true }),
  failClean: (one) => failClean(one, { ...BY, fault: FAULT }),
  abandonClean: (one) => abandonClean(one, BY),
  releaseUnused: (one) => releaseUnused(one, { ...BY, isOffered: true }),
  acquire: (one) => acquire(one, { manager: 'm2', managerEpoch: 1, ...BY }),
  setOffered: (one) => setOffered(one, { ...BY, isOffered: false }),
  removeNode: (one) => removeNode(one, BY),
};

describe('transitions', () => {
  // The state after each, or the code of the refusal; in the order of NODE_STATES.
  test.each<[string, readonly string[]]>([
    [
      'reserve',
      [
        'reserved',
        'node-not-free',
        'node-not-free',
        'node-not-free',
        'node-not-free',
        'node-not-free',
        'node-not-free',
        'node-not-free',
      ],
    ],
    [
      'beginDeploy',
      [
        'wrong-node-state',
        'deploying',
        'deploying',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
      ],
    ],
    [
      'finishDeploy',
      [
        'wrong-node-state',
        'wrong-node-state',
        'active',
        'active',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
      ],
    ],
    [
      'beginClean',
      [
        'wrong-node-state',
        'cleaning',
        'cleaning',
        'cleaning',
        'cleaning',
        'cleaning',
        'wrong-node-state',
        'wrong-node-state',
      ],
    ],
    [
      'finishClean',
      [
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
        'available',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
      ],
    ],
    [
      'failClean',
      [
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
        'clean-failed',
        'clean-failed',
        'wrong-node-state',
        'wrong-node-state',
      ],
    ],
    [
      'abandonClean',
      [
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
        'clean-failed',
        'wrong-node-state',
        'wrong-node-state',
      ],
    ],
    [
      'releaseUnused',
      [
        'wrong-node-state',
        'available',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
        'wrong-node-state',
      ],
    ],
    [
      'acquire',
      [
        'node-not-in-use',
        'reserved',
        'deploying',
        'active',
        'cleaning',
        'clean-failed',
        'node-not-in-use',
        'node-not-in-use',
      ],
    ],
    [
      'setOffered',
      ['unavailable', 'reserved', 'deploying', 'active', 'cleaning', 'clean-failed', 'unavailable', 'removed'],
    ],
    [
      'removeNode',
      ['removed', 'node-in-use', 'node-in-use', 'node-in-use', 'node-in-use', 'node-in-use', 'removed', 'removed'],
    ],
  ])('%s-in-every-state', (name, expected) => {
    const results = NODE_STATES.map((state) => TRANSITIONS[name]!(stored('n1', IN_STATE[state])));
    expect(results.map((one) => (isRefused(one) ? one.code : one.state))).toEqual(expected);
  });

  test('a-refusal-names-the-node, its-state-and-what-to-look-at', () => {
    const refused = beginDeploy(stored('n1', IN_STATE.active), BY);
    expect(refused).toMatchObject({
      kind: 'conflict',
      code: 'wrong-node-state',
      facts: { node: 'n1', state: 'active', wanted: 'deploying' },
    });
    expect((refused as { message: string }).message).toContain('muster baremetal nodes show n1');
  });
});

describe('reserve', () => {
  test('the-epoch-grows-and-the-node-is-the-instances', () => {
    expect(TRANSITIONS['reserve']!(stored('n1', node({ epoch: 7 })))).toEqual(
      node({ state: 'reserved', epoch: 8, ...USED, changedBy: 'test', changedAtMs: 7 }),
    );
  });

  test('what-was-claimed-for-the-instance-is-its-own', () => {
    const reserved = TRANSITIONS['reserve']!(stored('n1', node({ claimedFor: 'i1' })));
    expect(reserved).toMatchObject({ state: 'reserved', instance: 'i1' });
    expect(reserved).not.toHaveProperty('claimedFor');
  });

  test.each<[string, Partial<Node>]>([
    ['in-maintenance', { maintenance: { reason: 'fan', by: 'ann', atMs: 0 } }],
    ['whose-power-is-unknown', { power: 'unknown' }],
    ['that-is-being-claimed-for-another', { claimedFor: 'i9' }],
  ])('a-node-%s-is-not-free', (_, facts) => {
    expect(TRANSITIONS['reserve']!(stored('n1', node(facts)))).toMatchObject({ code: 'node-not-free' });
  });
});

describe('release', () => {
  const gone = ['instance', 'manager', 'managerEpoch', 'dirty', 'fault'];

  test.each<[string, StoredNode, (one: StoredNode, isOffered: boolean) => TransitionResult]>([
    [
      'cleaned',
      stored('n1', { ...IN_STATE.cleaning, fault: FAULT }),
      (one, isOffered) => finishClean(one, { ...BY, isOffered }),
    ],
    ['unused', stored('n1', IN_STATE.reserved), (one, isOffered) => releaseUnused(one, { ...BY, isOffered })],
    [
      'stated-to-be-clean',
      stored('n1', node({ state: 'clean-failed', epoch: 4, fault: FAULT, ...DATA })),
      (one, isOffered) => confirmClean(one, { ...BY, isOffered }),
    ],
  ])('a-node-that-is-%s-is-nobodys, under-its-epoch', (_, before, release) => {
    for (const isOffered of [true, false]) {
      const after = release(before, isOffered) as Node;
      expect(after).toMatchObject({ state: isOffered ? 'available' : 'unavailable', epoch: 4 });
      expect(Object.keys(after).filter((field) => gone.includes(field))).toEqual([]);
    }
  });

  test('a-cleaning-that-was-abandoned-keeps-the-data-and-ends-the-reservation', () => {
    const after = abandonClean(stored('n1', IN_STATE['clean-failed']), BY) as Node;
    expect(after).toMatchObject({ state: 'clean-failed', dirty: true, fault: FAULT, epoch: 4 });
    expect([after.instance, after.manager, after.managerEpoch]).toEqual([undefined, undefined, undefined]);
    expect(abandonClean(stored('n1', after), BY)).toBe(after);
  });

  test('refuses-the-statement-that-a-node-in-use-is-clean', () => {
    expect(confirmClean(stored('n1', IN_STATE['clean-failed']), { ...BY, isOffered: true })).toMatchObject({
      code: 'node-in-use',
    });
    expect(confirmClean(stored('n1', IN_STATE.active), { ...BY, isOffered: true })).toMatchObject({
      code: 'node-in-use',
    });
  });

  test('stating-it-of-a-clean-node-changes-nothing', () => {
    const { available } = IN_STATE;
    expect(confirmClean(stored('n1', available), { ...BY, isOffered: true })).toBe(available);
  });
});

test('from-the-moment-a-deploy-begins-there-is-data-on-the-node', () => {
  expect(beginDeploy(stored('n1', IN_STATE.reserved), BY)).toMatchObject({ state: 'deploying', dirty: true });
  expect(beginClean(stored('n1', IN_STATE.reserved), BY)).toMatchObject({ state: 'cleaning', dirty: true });
});

describe('faults', () => {
  test('a-deploy-that-failed-says-why-the-node-is-cleaned', () => {
    expect(beginClean(stored('n1', IN_STATE.deploying), { ...BY, fault: FAULT })).toMatchObject({ fault: FAULT });
  });

  test('a-new-try-forgets-the-last-fault', () => {
    const again = beginClean(stored('n1', IN_STATE['clean-failed']), BY);
    expect(again).toMatchObject({ state: 'cleaning', instance: 'i1' });
    expect(again).not.toHaveProperty('fault');
  });
});

describe('acquire', () => {
  test('every-acquisition-raises-the-epoch, by-another-manager-or-under-another-lease', () => {
    const other = acquire(stored('n1', IN_STATE.active), { manager: 'm2', managerEpoch: 1, ...BY }) as Node;
    expect(other).toMatchObject({ manager: 'm2', managerEpoch: 1, epoch: 5, state: 'active', instance: 'i1' });
    expect(acquire(stored('n1', other), { manager: 'm2', managerEpoch: 2, ...BY })).toMatchObject({ epoch: 6 });
  });

  test('what-is-ones-own-already-is-not-acquired-again', () => {
    const { active } = IN_STATE;
    expect(acquire(stored('n1', active), { manager: 'm1', managerEpoch: 3, ...BY })).toBe(active);
  });
});

describe('inventory', () => {
  test('a-node-is-offered-again', () => {
    expect(setOffered(stored('n1', IN_STATE.unavailable), { ...BY, isOffered: true })).toMatchObject({
      state: 'available',
    });
  });

  test('a-node-with-data-is-not-offered, whatever-the-inventory-says', () => {
    const dirty = node({ state: 'unavailable', ...DATA });
    expect(setOffered(stored('n1', dirty), { ...BY, isOffered: true })).toBe(dirty);
  });
});

describe('removal', () => {
  const machine = node({
    ...{ name: 'n1', site: 'north', resourceClass: 'large', traits: ['CUSTOM_GPU'], owner: 'blue', epoch: 9 },
    maintenance: { reason: 'scrap', by: 'ann', atMs: 0 },
  });

  test('the-id-and-the-epoch-stay', () => {
    expect(removeNode(stored('n1', machine), BY)).toEqual({
      ...{ name: 'n1', inventory: 'simulated', site: 'north', state: 'removed', power: 'unknown', epoch: 9 },
      ...{ traits: [], memoryMiB: 0, cpus: 0, localGiB: 0, physicalNetworks: [] },
      ...{ changedBy: 'test', changedAtMs: 7 },
    });
  });

  test('a-machine-that-is-there-again-is-the-same-node', () => {
    const removed = removeNode(stored('n1', machine), BY) as Node;
    const again = reviveNode(stored('n1', removed), node({ name: 'n1', resourceClass: 'small' }));
    expect(again).toMatchObject({ state: 'available', epoch: 9, resourceClass: 'small' });
    expect(again).not.toHaveProperty('owner');
  });

  test('and-not-free-if-it-went-away-with-data', () => {
    const dirty = node({ state: 'clean-failed', fault: FAULT, ...DATA });
    const removed = removeNode(stored('n1', dirty), BY) as Node;
    const again = reviveNode(stored('n1', removed), node()) as Node;
    expect(again).toMatchObject({ state: 'clean-failed', dirty: true, fault: { code: 'not-cleaned' } });
    expect(bucketOf(again)).toBe('unavailable');
  });

  test('what-was-not-removed-is-not-revived', () => {
    expect(reviveNode(stored('n1', IN_STATE.active), node())).toMatchObject({ code: 'wrong-node-state' });
  });
});

describe('never', () => {
  const step = fc.constantFrom(...Object.keys(TRANSITIONS), 'revive', 'confirm');

  test('whatever-is-done-to-a-node-in-whatever-order, no-invariant-breaks', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const fleet = newFleet(put(NODE, idOf(NODE, 'n1'), node()));
        for (const name of steps) {
          const before = stored('n1', nodeOf(fleet, 'n1')!);
          const after =
            name === 'revive'
              ? reviveNode(before, node())
              : name === 'confirm'
                ? confirmClean(before, { ...BY, isOffered: true })
                : TRANSITIONS[name]!(before);
          if (!isRefused(after)) commit(fleet, put(NODE, before.id, after));
        }
      }),
      { numRuns: 500 },
    );
  });

  test('every-step-of-the-table-is-one-that-some-transition-takes', () => {
    const taken = new Set<string>();
    const offered = [true, false];
    for (const state of NODE_STATES) {
      const unused = node({ state, ...DATA });
      const isUsed = IN_STATE[state].instance !== undefined && state !== 'clean-failed';
      const variants = [IN_STATE[state], ...(isUsed ? [] : [unused])];
      for (const one of variants.map((doc) => stored('n1', doc))) {
        const results = [
          ...Object.values(TRANSITIONS).map((take) => take(one)),
          reviveNode(one, node()),
          reviveNode(one, node({ state: 'unavailable' })),
          ...offered.flatMap((isOffered) => [
            finishClean(one, { ...BY, isOffered }),
            releaseUnused(one, { ...BY, isOffered }),
            confirmClean(one, { ...BY, isOffered }),
            setOffered(one, { ...BY, isOffered }),
          ]),
        ];
        for (const after of results) if (!isRefused(after)) taken.add(`${state} ${after.state}`);
      }
    }
    const table = NODE_STATES.flatMap((from) =>
      NODE_TRANSITIONS[from].filter((to) => to !== from).map((to) => `${from} ${to}`),
    );
    expect(table.filter((one) => !taken.has(one))).toEqual([]);
    expect([...taken].filter((one) => one.split(' ')[0] !== one.split(' ')[1] && !table.includes(one))).toEqual([]);
  });
});
