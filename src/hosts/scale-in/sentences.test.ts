// Every reason of scale-in has a sentence of its own, which says what to do.
import { expect, test } from 'vitest';
import { explainer } from '../../operations/index.ts';
import { HOST_STATES } from '../model.ts';
import { scaleInSentences } from './sentences.ts';
import { SCALE_IN_TABLE, VERBS } from './verb-table.ts';

const FACTS = {
  host: 'c1',
  kind: 'instance',
  tenant: 'web-1',
  target: 'web-1',
  operation: 'op-1',
  shown: 100,
  connection: 'up',
  message: 'No.',
  problems: ['the switch does not answer'],
  peer: 'c2',
  hosts: ['c2', 'c3'],
};

test('all-of-them', () => {
  const explain = explainer([scaleInSentences]);
  const lines = Object.keys(scaleInSentences).map((code) => `${code}: ${explain({ code, ...FACTS })}`);
  expect(lines.filter((line) => line.includes('undefined'))).toEqual([]);
  expect(lines).toMatchInlineSnapshot(`
    [
      "unknown-host: There is no host "c1". List them with "muster hosts list".",
      "ambiguous-host: Several hosts have the id "c1": c2, c3. Use the name of one of them.",
      "still-joining: Host c1 is still joining and has nothing to move. "muster scale-in end c1" cancels its join.",
      "in-service: Host c1 is in service. Take it out first with "muster scale-in start c1".",
      "past-return: Host c1 is past the point of no return: its peers are already removing their tunnels to it. Join it again when it is removed.",
      "coming-back: Host c1 is being brought back. Take it out again with "muster scale-in start c1".",
      "re-admit-first: Host c1 was removed. Bring it back as a new host with "muster scale-out c1".",
      "quarantined: Host c1 is in quarantine: it was forced down, and what ran there was rebuilt elsewhere. Trust it again with "muster hosts re-admit c1 --reason <why>".",
      "left-to-operator: Host c1 leaves without a drain and still has instance web-1. Move it off by other means, or let the host be drained with "muster scale-in start c1".",
      "lives-here: Host c1 still has instance web-1.",
      "more-live-here: Host c1 has more than the 100 that are named.",
      "not-drained: Host c1 has not been found empty yet. "muster scale-in status" says what it waits for.",
      "still-connected: Host c1 is still connected. Stop its agent, or let it be ordered to leave with "muster scale-in end c1 --disconnect".",
      "host-down: Host c1 is down and may still run what lives there. If it is off for certain, say so with "muster hosts force-down c1 --reason <why>": then it is rebuilt elsewhere.",
      "budget: Host c1 waits for its turn: as many moves are under way as the setting "scale-in" allows at once.",
      "moves-under-way: Moves off host c1 are under way.",
      "drains-under-way: What lives in tenants of host c1 is leaving them, so that they can leave the host.",
      "handovers-under-way: Handovers of services of host c1 are under way.",
      "handover-budget: Services of host c1 wait for their turn: as many handovers are under way as "handoversAtOnce" of the setting "election" allows.",
      "host-works: The agent of host c1 has work of operation op-1 for instance web-1 that is not done yet. "muster operations show op-1" says what.",
      "not-begun: Nothing could be started for host c1: No.",
      "not-left: Host c1 could not leave: the switch does not answer. It is ordered to leave again.",
      "leave-unanswered: Host c1 was ordered to leave and has not answered yet: its agent is connected and does not finish. The operation waits for it, 5 minutes in all; check the agent there, or continue without it with "muster scale-in end c1 --force --reason <why>".",
      "leave-given-up: Host c1 was to leave and did not answer within 5 minutes; its connection is up. Nothing of it was removed. Stop its agent and end it again once it is down, or continue without it with "muster scale-in end c1 --force --reason <why>".",
      "leaver-silent: Host c1 was to be ordered to leave and is silent. It is removed once it is down; if it is off for certain, say so with "muster hosts force-down c1 --reason <why>".",
      "has-left: Host c1 has left and is about to be removed.",
      "brought-back: Host c1 was brought back meanwhile.",
      "agent-has-left: The agent of host c1 left on order, and its credential was revoked. Get a join token with "muster hosts join-token c1" and start "muster agent" there again.",
      "forced-down: Host c1 is forced down: an operator stated that it is off. Take that back with "muster hosts clear-force-down c1".",
      "peer-not-connected: Host c2 is silent, and may still have flows and tunnels to host c1. They are removed as soon as it is back.",
      "peer-too-old: The agent of host c2 is too old to reconcile its switch, which may still have flows and tunnels to host c1. They are removed as soon as it is upgraded.",
      "peer-out-of-control: The switch of host c2 is out of control, and may still have flows and tunnels to host c1. They are removed as soon as it is reconciled.",
    ]
  `);
});

test('every-refusal-of-the-table-has-one', () => {
  const codes = HOST_STATES.flatMap((state) =>
    VERBS.flatMap((verb) => {
      const act = SCALE_IN_TABLE[state][verb];
      return act.act === 'refuse' ? [act.because] : [];
    }),
  );
  expect(codes.filter((code) => scaleInSentences[code] === undefined)).toEqual([]);
});
