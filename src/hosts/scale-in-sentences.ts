// How scale-in explains itself: why a verb does not fit, what is in the way, and what a host waits for.
import { said, saidProblems, type ReasonSentences } from '../operations/index.ts';

export const scaleInSentences: ReasonSentences = {
  'unknown-host': ({ host }) => `There is no host "${said(host)}". List them with "muster hosts list".`,
  'ambiguous-host': ({ host, hosts }) =>
    `Several hosts have the id "${said(host)}": ${said(hosts)}. Say the name of the one that you mean.`,
  'still-joining': ({ host }) =>
    `Host ${said(host)} is still joining and has nothing to move. "muster scale-in end ${said(host)}" cancels its join.`,
  'in-service': ({ host }) =>
    `Host ${said(host)} is in service. Take it out first with "muster scale-in start ${said(host)}".`,
  'past-return': ({ host }) =>
    `Host ${said(host)} is past the point of no return: its peers forget it already. Join it again when it is removed.`,
  'coming-back': ({ host }) =>
    `Host ${said(host)} is being brought back. Take it out again with "muster scale-in start ${said(host)}".`,
  're-admit-first': ({ host }) =>
    `Host ${said(host)} was removed. Bring it back as a new host with "muster scale-out ${said(host)}".`,
  quarantined: ({ host, because }) =>
    because === 'identity'
      ? `Host ${said(host)} is in quarantine: its switch has the identity of another host's. Give its switch an identity of its own, then trust it again with "muster hosts re-admit ${said(host)}".`
      : `Host ${said(host)} is in quarantine: somebody vouched for it being off, and what it had was built elsewhere. Trust it again with "muster hosts re-admit ${said(host)}".`,
  'left-to-operator': ({ host, kind, tenant }) =>
    `Host ${said(host)} leaves without a drain and still has ${said(kind)} ${said(tenant)}. Move it off by other means, or let the host be drained with "muster scale-in start ${said(host)}".`,
  'lives-here': ({ host, kind, tenant }) => `Host ${said(host)} still has ${said(kind)} ${said(tenant)}.`,
  'more-live-here': ({ host, told }) => `Host ${said(host)} has more than the ${said(told)} that are named.`,
  'not-drained': ({ host }) =>
    `Host ${said(host)} has not been found empty yet. "muster scale-in status" says what it waits for.`,
  'still-connected': ({ host, connection }) =>
    connection === 'suspect'
      ? `Host ${said(host)} was heard a moment ago and may still be connected. Stop its agent, or let it be told to leave with "muster scale-in end ${said(host)} --disconnect".`
      : `Host ${said(host)} is still connected. Stop its agent, or let it be told to leave with "muster scale-in end ${said(host)} --disconnect".`,
  'host-down': ({ host }) =>
    `Host ${said(host)} is down and may still run what lives there. If it is off for certain, say so with "muster hosts force-down ${said(host)}": then it is built elsewhere.`,
  budget: ({ host }) =>
    `Host ${said(host)} waits for its turn: as many moves are under way as the setting "scale-in" allows at once.`,
  'moves-under-way': ({ host }) => `Moves off host ${said(host)} are under way.`,
  'hand-overs-under-way': ({ host }) => `Services of host ${said(host)} are being handed over.`,
  'hand-over-budget': ({ host }) =>
    `Services of host ${said(host)} wait for their turn: as many are being handed over as "handOversAtOnce" of the setting "election" allows.`,
  'host-works': ({ host, kind, target, operation }) =>
    operation === undefined
      ? `The agent of host ${said(host)} has work that is not done yet.`
      : `The agent of host ${said(host)} has work of operation ${said(operation)} for ${said(kind)} ${said(target)} that is not done yet. "muster operations show ${said(operation)}" says what.`,
  'not-begun': ({ host, message }) => `Nothing could be begun for host ${said(host)}: ${said(message)}`,
  'not-left': ({ host, problems }) =>
    `Host ${said(host)} could not leave: ${saidProblems(problems)}. It is asked again.`,
  'leave-unanswered': ({ host, forced }) =>
    forced === true
      ? `Host ${said(host)} was told to leave and has not answered yet: its agent is heard and does not finish. It goes by force, and is waited for a minute at most.`
      : `Host ${said(host)} was told to leave and has not answered yet: its agent is heard and does not finish. It is waited for, 5 minutes in all; look at the agent there, or go on without it with "muster scale-in end ${said(host)} --force --reason <why>".`,
  'leave-given-up': ({ host, connection }) =>
    `Host ${said(host)} was to leave and did not answer within 5 minutes; its connection is ${said(connection)}. Nothing of it was removed. Stop its agent and end it again once it is down, or go on without it with "muster scale-in end ${said(host)} --force --reason <why>".`,
  'leaver-silent': ({ host, forced }) =>
    forced === true
      ? `Host ${said(host)} was to be told to leave and is silent. It goes by force, and is waited for a minute at most.`
      : `Host ${said(host)} was to be told to leave and is silent. It goes when it is found to be down; if it is off for certain, say so with "muster hosts force-down ${said(host)}".`,
  'has-left': ({ host }) => `Host ${said(host)} has left and is about to be removed.`,
  'brought-back': ({ host }) => `Host ${said(host)} was brought back meanwhile.`,
  'agent-has-left': ({ host }) =>
    `The agent of host ${said(host)} left when it was told to, and its credential was revoked. Get a join token with "muster hosts join-token ${said(host)}" and start "muster agent" there again.`,
  'forced-down': ({ host }) =>
    `Somebody vouches for host ${said(host)} being off. Take that back with "muster hosts force-up ${said(host)}".`,
  'peer-not-heard': ({ peer, host }) =>
    peer === host
      ? `Host ${said(host)} was removed before and has joined again, and is not heard. Its switch may still have flows and tunnels of hosts that are gone. They go as soon as it is back.`
      : `Host ${said(peer)} is not heard, and may still have flows and tunnels to host ${said(host)}. They go as soon as it is back.`,
  'peer-too-old': ({ peer, host }) =>
    peer === host
      ? `Host ${said(host)} was removed before and has joined again with an agent that is too old to look after its switch, which may still have flows and tunnels of hosts that are gone. They go as soon as it is upgraded.`
      : `The agent of host ${said(peer)} is too old to look after its switch, which may still have flows and tunnels to host ${said(host)}. They go as soon as it is upgraded.`,
  'peer-out-of-control': ({ peer, host }) =>
    peer === host
      ? `Host ${said(host)} was removed before and has joined again, and its switch is out of control. It may still have flows and tunnels of hosts that are gone. They go as soon as the switch obeys.`
      : `The switch of host ${said(peer)} is out of control, and may still have flows and tunnels to host ${said(host)}. They go as soon as it obeys.`,
};
