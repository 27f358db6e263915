// Controllers, kinds and agents with one bug each.
import { OPERATIONS_CONTROLLER } from '../../src/operations/module.ts';
import { AGENT_GATEWAY } from '../../src/agent/module.ts';
import { LivenessController } from '../../src/hosts/runtime.ts';
import { LIVENESS_CONTROLLER, HOST, type Host } from '../../src/hosts/index.ts';
import { idOf, put } from '../../src/fleet/index.ts';
import type { Clock, Journal } from '../../src/journal/index.ts';
import { record } from '../../src/operations/index.ts';
import type { AgentLink } from '../../src/agent/runtime.ts';
import { agentsForward } from '../checkers/agents.ts';
import { downOnlyIfSilent, upOnlyIfHeartbeat } from '../checkers/liveness.ts';
import { AT_REST } from '../seed-properties.ts';
import type { Mutant } from './mutant.ts';
import { withKinds, withRunningPart } from './planting.ts';

export const lostPark: Mutant = {
  name: 'lost-park',
  bug: 'an item that was parked is never looked at again',
  likely: 8,
  caughtBy: [AT_REST],
  plant: (parts) =>
    withKinds(parts, ['host-join'], (kind) => ({
      ...kind,
      plan: (fleet, items, nowMs) => {
        const remembered = items.filter((item) => item.doc.state !== 'waiting');
        return kind.plan(fleet, remembered, nowMs);
      },
    })),
};

export const activeWithoutHeartbeat: Mutant = {
  name: 'active-without-heartbeat',
  bug: 'a host is put into service before its agent sent a heartbeat',
  caughtBy: ['never: a host becomes active before its agent sent a heartbeat'],
  plant: (parts) =>
    withKinds(parts, ['host-join'], (kind) => ({
      ...kind,
      plan: (fleet, items, nowMs) =>
        items.flatMap((item) => {
          const host = fleet.get(HOST, idOf(HOST, item.doc.target.id));
          if (host?.doc.state !== 'joining') return kind.plan(fleet, [item], nowMs);
          const active: Host = { ...host.doc, state: 'active' };
          return [record(item, { state: 'done', step: 'activate' }, { changes: [put(HOST, host.id, active)] })];
        }),
    })),
};

/** Shows time in small steps, so that a pause is never noticed. */
class SmoothClock implements Clock {
  readonly #real: Clock;
  #shownMs: number | undefined;

  constructor(real: Clock) {
    this.#real = real;
  }

  nowMs(): number {
    return this.#shownMs ?? this.#real.nowMs();
  }

  /** False when the real time is reached. */
  step(ms: number): boolean {
    const realMs = this.#real.nowMs();
    this.#shownMs = Math.min(realMs, (this.#shownMs ?? realMs) + ms);
    return this.#shownMs < realMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#real.sleep(ms, signal);
  }

  turn(): Promise<void> {
    return this.#real.turn();
  }
}

class BlindLiveness extends LivenessController {
  readonly #smooth: SmoothClock;

  constructor(options: ConstructorParameters<typeof LivenessController>[0]) {
    const smooth = new SmoothClock(options.clock);
    super({ ...options, clock: smooth });
    this.#smooth = smooth;
  }

  override async reconcile(): Promise<void> {
    for (let behind = true; behind;) {
      behind = this.#smooth.step(4000);
      await super.reconcile();
    }
  }
}

export const ownPauseCountedAsSilence: Mutant = {
  name: 'own-pause-counted-as-silence',
  bug: 'a holder that stood still counts that time as silence of the hosts',
  likely: 1,
  caughtBy: [downOnlyIfSilent.name],
  plant: (parts) => withRunningPart(parts, LIVENESS_CONTROLLER, ({ environment }) => new BlindLiveness(environment)),
};

/** A host seen in an earlier term counts as reachable when the next term begins. */
class TrustingLiveness extends LivenessController {
  readonly #known = new Set<string>();
  readonly #epochOf: () => number | undefined;
  #epoch: number | undefined;

  constructor(options: ConstructorParameters<typeof LivenessController>[0]) {
    super(options);
    this.#epochOf = () => options.journal.fence?.epoch;
  }

  override recordHeartbeat(host: string): void {
    this.#known.add(host);
    super.recordHeartbeat(host);
  }

  override async reconcile(): Promise<void> {
    const epoch = this.#epochOf();
    if (epoch !== undefined && epoch !== this.#epoch) for (const host of this.#known) super.recordHeartbeat(host);
    this.#epoch = epoch ?? this.#epoch;
    await super.reconcile();
  }
}

export const oldHeartbeatsCountInNewTerm: Mutant = {
  name: 'old-heartbeats-count-in-new-term',
  bug: 'a server that gets the lease again counts heartbeats of an earlier term',
  likely: 6,
  caughtBy: [upOnlyIfHeartbeat.name],
  plant: (parts) => withRunningPart(parts, LIVENESS_CONTROLLER, ({ environment }) => new TrustingLiveness(environment)),
};

/** Gives the agent the same stamp on every view, and the checkers the real one. */
function forgeStamps(link: AgentLink): AgentLink {
  let epoch: number | undefined;
  return {
    // Signatures would reveal it; here the stamps have to.
    isAuthenticated: () => true,
    join: (to, join) => link.join(to, join),
    heartbeat: (to, beat) => link.heartbeat(to, beat),
    observe: (to, observations) => link.observe(to, observations),
    deposit: (to, deposit) => link.deposit(to, deposit),
    collect: (to, ask, signal) => link.collect(to, ask, signal),
    view: async (to, ask, signal) => {
      const { leaseEpoch: _, ...rest } = ask;
      const reply = await link.view(to, epoch === undefined ? rest : { ...rest, leaseEpoch: epoch }, signal);
      if (reply.kind !== 'answer' || reply.answer.kind !== 'view') return reply;
      const { view } = reply.answer;
      epoch = view.stamp.leaseEpoch;
      const stamp = { journalId: view.stamp.journalId, leaseEpoch: 1, revision: 1 };
      return { kind: 'answer', answer: { kind: 'view', view: { ...view, stamp } } };
    },
  };
}

export const agentTakesOlderViews: Mutant = {
  name: 'agent-takes-older-views',
  bug: 'an agent does not see that a view is older than what it follows',
  likely: 14,
  caughtBy: [agentsForward.name],
  plant: (parts) => ({
    ...parts,
    agent: (ports, options) => parts.agent({ ...ports, link: forgeStamps(ports.link) }, options),
  }),
};

export const agentIdentityLost: Mutant = {
  name: 'agent-identity-lost',
  bug: 'what an agent wrote about itself is not on its disk after a restart',
  caughtBy: [AT_REST],
  plant: (parts) => ({
    ...parts,
    agent: (ports, options) => {
      const { disk } = ports;
      const read: typeof disk.read = async (name) => {
        const text = await disk.read(name);
        return name === 'identity' ? undefined : text;
      };
      return parts.agent({ ...ports, disk: { read, write: (name, text) => disk.write(name, text) } }, options);
    },
  }),
};

/** A journal that, once it held the lease, claims for ever that it does. */
function keepFence(journal: Journal): Journal {
  let last: Journal['fence'];
  return new Proxy(journal, {
    get: (target, key): unknown => {
      if (key === 'fence') return (last = target.fence ?? last);
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

export const gatewayWithoutLease: Mutant = {
  name: 'gateway-without-lease',
  bug: 'a server that lost the lease goes on taking heartbeats, so that the holder gets none',
  likely: 2,
  caughtBy: [AT_REST],
  plant: (parts) =>
    withRunningPart(parts, AGENT_GATEWAY, (runtime, production) =>
      production(runtime.withEnvironment({ journal: keepFence(runtime.environment.journal) })),
    ),
};

export const deadlineForgotten: Mutant = {
  name: 'deadline-forgotten',
  bug: 'the engine goes by a clock that does not move, so no deadline ever passes',
  likely: 2,
  caughtBy: [AT_REST, 'never: an operation acts after its deadline'],
  plant: (parts) =>
    withRunningPart(parts, OPERATIONS_CONTROLLER, (runtime, production) => {
      const { clock } = runtime.environment;
      const startedMs = clock.nowMs();
      const stopped: Clock = {
        nowMs: () => startedMs,
        sleep: (ms, signal) => clock.sleep(Math.min(ms, 1000), signal),
        turn: () => clock.turn(),
      };
      return production(runtime.withEnvironment({ clock: stopped }));
    }),
};
