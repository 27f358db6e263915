// The kit itself, on a kind that acts through a driver: a counter outside the journal that must be raised exactly once
// per item, however often the step is carried out.
import { idOf, put, schemaKind } from '../fleet/index.ts';
import { Type } from 'typebox';
import { accept } from '../journal/index.ts';
import { newOperation } from './decide.ts';
import { record, wait, type Driver, type OperationKind } from './kind.ts';
import { torture } from './torture.ts';
import type { TortureSubject } from './torture-world.ts';

const LAMP = schemaKind('lamp', Type.Object({ lit: Type.Boolean() }, { additionalProperties: false }));

/** The real world: keyed by action, so that a repetition changes nothing. */
class Switchboard implements Driver {
  readonly on = new Set<string>();
  async carryOut(action: Parameters<Driver['carryOut']>[0]): ReturnType<Driver['carryOut']> {
    const lamp = String(action.args['lamp']);
    if (this.on.has(lamp)) return { kind: 'already' };
    this.on.add(lamp);
    return { kind: 'applied' };
  }
}

const light: OperationKind = {
  name: 'light',
  steps: ['switch'],
  cancel: { kind: 'does', what: 'lamps that are not lit stay dark' },
  retry: { kind: 'none', because: 'it never fails' },
  plan: (_fleet, items, nowMs) =>
    items.flatMap((item) => {
      if (item.doc.state === 'waiting' && nowMs < (item.doc.retryAtMs ?? 0)) return [];
      const { step, attempt, target } = item.doc;
      const action = { driver: 'switchboard', item: item.id, step, attempt, args: { lamp: target.id } };
      return [{ kind: 'act', item: item.id, expected: item.revision, action }];
    }),
  observe: (item, outcome, { nowMs }) => {
    if (outcome.kind === 'failed') return wait(item, outcome.reason, nowMs + 1000);
    return record(
      item,
      { state: 'done', step: 'switch' },
      { changes: [put(LAMP, idOf(LAMP, item.doc.target.id), { lit: true })] },
    );
  },
};

const lamps = ['red', 'green', 'blue'];

const subject: TortureSubject = {
  name: 'light (a driver outside the journal)',
  models: [{ kinds: [LAMP] }],
  kind: light,
  drivers: () => new Map([['switchboard', new Switchboard()]]),
  prepare: lamps.map((lamp) => put(LAMP, idOf(LAMP, lamp), { lit: false })),
  start: (id, nowMs) => ({
    by: 'test',
    decide: (fleet) => {
      const items = lamps.map((lamp) => ({ key: lamp, target: { kind: 'lamp', id: lamp }, step: 'switch' }));
      const operation = { id, kind: 'light', title: 'light lamps', by: 'test', nowMs, deadlineMs: 3_600_000, items };
      return accept(fleet.revision === 0 ? [] : newOperation(operation), null);
    },
  }),
  world: async () => undefined,
  wrongWhenDone: (fleet) => [...fleet.all(LAMP)].filter((lamp) => !lamp.doc.lit).map((lamp) => `${lamp.id} is dark`),
  wrongWhenCancelled: () => [],
};

torture(subject);
