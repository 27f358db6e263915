// Has what ended by itself on the machine started again, by the view that a holder has confirmed: at once, and later while that fails.
import { WakeSignal } from '../../link/index.ts';
import type { View } from '../protocol/messages.ts';
import type { AgentPorts } from './ports.ts';

export interface RestartLoopParts {
  /** The view whose instances are to run; undefined while no holder confirms it, or the host leaves. */
  readonly view: () => View | undefined;
}

/** A driver that failed by a bug is called again after this time. */
const RETRY_MS = 60_000;

export class RestartLoop {
  readonly #ports: AgentPorts;
  readonly #parts: RestartLoopParts;
  readonly #wakeSignal = new WakeSignal();

  constructor(ports: AgentPorts, parts: RestartLoopParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /** The view may be another, or an instance has ended. */
  wake(): void {
    this.#wakeSignal.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    while (!signal.aborted) {
      const ms = await this.#startEnded(signal);
      await this.#wakeSignal.wait(signal, ms === undefined ? undefined : { clock, ms });
    }
  }

  async #startEnded(signal: AbortSignal): Promise<number | undefined> {
    const { driver, log } = this.#ports;
    const view = this.#parts.view();
    if (view === undefined) return undefined;
    try {
      return await driver.startEnded?.(view, signal);
    } catch (error) {
      log.error({ err: error }, 'an instance that ended could not be started again by a fault of the program');
      return RETRY_MS;
    }
  }
}
