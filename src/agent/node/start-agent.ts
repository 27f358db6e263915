// The agent as a program of its own: over HTTP, with its files in a folder. What machine it drives is the caller's choice.
import type { Clock, Ids } from '../../journal/index.ts';
import type { Log } from '../../operations/index.ts';
import { Agent, type AgentOptions, type AgentStatus } from './agent.ts';
import { verifyEd25519 } from '../protocol/ed25519.ts';
import { HttpLink } from './http-link.ts';
import type { LocalDriver } from './ports.ts';
import type { Fingerprint } from '../../link/index.ts';
import { FileDisk } from '../../link/runtime.ts';

export interface StartAgentOptions extends AgentOptions {
  /** Where it keeps its credential and its last view. One agent, one folder. */
  readonly folder: string;
  readonly driver: LocalDriver;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'secret'>;
  readonly random: () => number;
  readonly log: Log;
  /** Certificates in PEM that servers are trusted by, instead of the system's. */
  readonly ca?: string | undefined;
  /** Fingerprints that servers are known by. */
  readonly pins?: readonly Fingerprint[] | undefined;
  /** Speak plain HTTP to other machines, too. */
  readonly insecure?: boolean | undefined;
}

export interface RunningAgent {
  status(): AgentStatus;
  /** Resolves when it has stopped; rejects when it could not continue. */
  readonly ended: Promise<void>;
  /** Stops cleanly: what runs on the host stays as it is. */
  stop(): Promise<void>;
}

export function startAgent(options: StartAgentOptions): RunningAgent {
  const { folder, driver, clock, ids, random, log, ca, pins, insecure } = options;
  const link = new HttpLink({ ca, pins, insecure });
  const stopping = new AbortController();
  const agent = new Agent(
    { link, disk: new FileDisk(folder, 'agent'), driver, clock, ids, random, log, verify: verifyEd25519 },
    options,
  );
  const ended = agent.run(stopping.signal).finally(() => {
    // If one of its loops broke, the others end as well.
    stopping.abort();
    link.close();
  });
  return {
    status: () => agent.status(),
    ended,
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}
