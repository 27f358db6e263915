// The sentences of scale-in's reasons: why a verb does not fit a state, what blocks a removal, and what a host waits for.
import { formatFact, formatProblems, type ReasonSentences } from '../../operations/index.ts';

export const scaleInSentences: ReasonSentences = {
  'unknown-host': ({ host }) => `There is no host "${formatFact(host)}". List them with "muster hosts list".`,
  'ambiguous-host': ({ host, hosts }) =>
    `Several hosts have the id "${formatFact(host)}": ${formatFact(hosts)}. Use the name of one of them.`,
  'still-joining': ({ host }) =>
    `Host ${formatFact(host)} is still joining and has nothing to move. "muster scale-in end ${formatFact(host)}" cancels its join.`,
  'in-service': ({ host }) =>
    `Host ${formatFact(host)} is in service. Take it out first with "muster scale-in start ${formatFact(host)}".`,
  'past-return': ({ host }) =>
    `Host ${formatFact(host)} is past the point of no return: its peers are already removing their tunnels to it. Join it again when it is removed.`,
  'coming-back': ({ host }) =>
    `Host ${formatFact(host)} is being brought back. Take it out again with "muster scale-in start ${formatFact(host)}".`,
  're-admit-first': ({ host }) =>
    `Host ${formatFact(host)} was removed. Bring it back as a new host with "muster scale-out ${formatFact(host)}".`,
  quarantined: ({ host, because }) =>
    because === 'identity'
      ? `Host ${formatFact(host)} is in quarantine: its switch has the identity of another host's. Give its switch an identity of its own, then trust it again with "muster hosts re-admit ${formatFact(host)} --reason <why>".`
      : `Host ${formatFact(host)} is in quarantine: it was forced down, and what ran there was rebuilt elsewhere. Trust it again with "muster hosts re-admit ${formatFact(host)} --reason <why>".`,
  'left-to-operator': ({ host, kind, tenant }) =>
    `Host ${formatFact(host)} leaves without a drain and still has ${formatFact(kind)} ${formatFact(tenant)}. Move it off by other means, or let the host be drained with "muster scale-in start ${formatFact(host)}".`,
  'lives-here': ({ host, kind, tenant }) =>
    `Host ${formatFact(host)} still has ${formatFact(kind)} ${formatFact(tenant)}.`,
  'more-live-here': ({ host, shown }) =>
    `Host ${formatFact(host)} has more than the ${formatFact(shown)} that are named.`,
  'not-drained': ({ host }) =>
    `Host ${formatFact(host)} has not been found empty yet. "muster scale-in status" says what it waits for.`,
  'still-connected': ({ host, connection }) =>
    connection === 'suspect'
      ? `Host ${formatFact(host)} sent a heartbeat a moment ago and may still be connected. Stop its agent, or let it be ordered to leave with "muster scale-in end ${formatFact(host)} --disconnect".`
      : `Host ${formatFact(host)} is still connected. Stop its agent, or let it be ordered to leave with "muster scale-in end ${formatFact(host)} --disconnect".`,
  'host-down': ({ host }) =>
    `Host ${formatFact(host)} is down and may still run what lives there. If it is off for certain, say so with "muster hosts force-down ${formatFact(host)} --reason <why>": then it is rebuilt elsewhere.`,
  budget: ({ host }) =>
    `Host ${formatFact(host)} waits for its turn: as many moves are under way as the setting "scale-in" allows at once.`,
  'moves-under-way': ({ host }) => `Moves off host ${formatFact(host)} are under way.`,
  'drains-under-way': ({ host }) =>
    `What lives in tenants of host ${formatFact(host)} is leaving them, so that they can leave the host.`,
  'handovers-under-way': ({ host }) => `Handovers of services of host ${formatFact(host)} are under way.`,
  'handover-budget': ({ host }) =>
    `Services of host ${formatFact(host)} wait for their turn: as many handovers are under way as "handoversAtOnce" of the setting "election" allows.`,
  'host-works': ({ host, kind, target, operation }) =>
    operation === undefined
      ? `The agent of host ${formatFact(host)} has work that is not done yet.`
      : `The agent of host ${formatFact(host)} has work of operation ${formatFact(operation)} for ${formatFact(kind)} ${formatFact(target)} that is not done yet. "muster operations show ${formatFact(operation)}" says what.`,
  'not-begun': ({ host, message }) => `Nothing could be started for host ${formatFact(host)}: ${formatFact(message)}`,
  'not-left': ({ host, problems }) =>
    `Host ${formatFact(host)} could not leave: ${formatProblems(problems)}. It is ordered to leave again.`,
  'leave-unanswered': ({ host, forced }) =>
    forced === true
      ? `Host ${formatFact(host)} was ordered to leave and has not answered yet: its agent is connected and does not finish. It is removed by force after a minute at most.`
      : `Host ${formatFact(host)} was ordered to leave and has not answered yet: its agent is connected and does not finish. The operation waits for it, 5 minutes in all; check the agent there, or continue without it with "muster scale-in end ${formatFact(host)} --force --reason <why>".`,
  'leave-given-up': ({ host, connection }) =>
    `Host ${formatFact(host)} was to leave and did not answer within 5 minutes; its connection is ${formatFact(connection)}. Nothing of it was removed. Stop its agent and end it again once it is down, or continue without it with "muster scale-in end ${formatFact(host)} --force --reason <why>".`,
  'leaver-silent': ({ host, forced }) =>
    forced === true
      ? `Host ${formatFact(host)} was to be ordered to leave and is silent. It is removed by force after a minute at most.`
      : `Host ${formatFact(host)} was to be ordered to leave and is silent. It is removed once it is down; if it is off for certain, say so with "muster hosts force-down ${formatFact(host)} --reason <why>".`,
  'has-left': ({ host }) => `Host ${formatFact(host)} has left and is about to be removed.`,
  'brought-back': ({ host }) => `Host ${formatFact(host)} was brought back meanwhile.`,
  'agent-has-left': ({ host }) =>
    `The agent of host ${formatFact(host)} left on order, and its credential was revoked. Get a join token with "muster hosts join-token ${formatFact(host)}" and start "muster agent" there again.`,
  'forced-down': ({ host }) =>
    `Host ${formatFact(host)} is forced down: an operator stated that it is off. Take that back with "muster hosts clear-force-down ${formatFact(host)}".`,
  'peer-not-connected': ({ peer, host }) =>
    peer === host
      ? `Host ${formatFact(host)} was removed before and has joined again, and is silent. Its switch may still have flows and tunnels of removed hosts. They are removed as soon as it is back.`
      : `Host ${formatFact(peer)} is silent, and may still have flows and tunnels to host ${formatFact(host)}. They are removed as soon as it is back.`,
  'peer-too-old': ({ peer, host }) =>
    peer === host
      ? `Host ${formatFact(host)} was removed before and has joined again with an agent that is too old to reconcile its switch, which may still have flows and tunnels of removed hosts. They are removed as soon as it is upgraded.`
      : `The agent of host ${formatFact(peer)} is too old to reconcile its switch, which may still have flows and tunnels to host ${formatFact(host)}. They are removed as soon as it is upgraded.`,
  'peer-out-of-control': ({ peer, host }) =>
    peer === host
      ? `Host ${formatFact(host)} was removed before and has joined again, and its switch is out of control. It may still have flows and tunnels of removed hosts. They are removed as soon as the switch is reconciled.`
      : `The switch of host ${formatFact(peer)} is out of control, and may still have flows and tunnels to host ${formatFact(host)}. They are removed as soon as it is reconciled.`,
};
