// Echo requests by ICMP from a namespace.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { endChild } from '../../test/end-child.ts';
import { run } from '../command.ts';
import { inNamespace } from '../underlay/links-plan.ts';
import { startInNamespace } from './start-in-namespace.ts';

/** Debian's own, which Open vSwitch needs too. */
const PROGRAM = ['/usr/bin/python3', join(import.meta.dirname, 'ping.py')];
const WARM_UP_PATIENCE_MS = 20_000;

export interface PingFlow {
  readonly namespace: string;
  readonly address: string;
  readonly everyMs: number;
}

export interface PingStats {
  readonly sent: number;
  readonly returned: number;
  readonly longestGapMs: number;
}

/** Requests at an even pace, until it is ended. */
export class Ping {
  readonly #child: ChildProcess;
  readonly #said: Promise<string>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#said = child.stdout === null ? Promise.resolve('') : text(child.stdout);
  }

  /** Resolves with the first answer. */
  static async start({ namespace, address, everyMs }: PingFlow): Promise<Ping> {
    const command = [...PROGRAM, 'load', address, String(everyMs)];
    const child = startInNamespace(namespace, command, ['pipe', 'pipe', 'inherit']);
    const ping = new Ping(child);
    const patience = AbortSignal.timeout(WARM_UP_PATIENCE_MS);
    try {
      if (child.stdout !== null) await once(child.stdout, 'data', { signal: patience });
    } catch (error) {
      await endChild(child, 'SIGKILL');
      throw new Error(`${address} does not answer ${namespace}`, { cause: error });
    }
    return ping;
  }

  async end(): Promise<PingStats> {
    this.#child.stdin?.end();
    const last = (await this.#said).trim().split('\n').at(-1) ?? '';
    return JSON.parse(last) as PingStats;
  }
}

/** How long the first answer of each address took, in milliseconds; null for one that did not answer. */
export async function reach(
  namespace: string,
  addresses: readonly string[],
  patienceMs = 5000,
): Promise<Readonly<Record<string, number | null>>> {
  const answer = await run(inNamespace(namespace, ...PROGRAM, 'reach', String(patienceMs), ...addresses));
  return JSON.parse(answer) as Record<string, number | null>;
}
