// How many calls whose body comes in lines are served at once: the values of each are in memory until it is answered.
import type { FastifyRequest } from 'fastify';
import { HttpProblem } from '../problem.ts';
import type { ServerLimits } from './limits.ts';

export class BulkSlots {
  readonly #limits: Pick<ServerLimits, 'bulkCalls' | 'bulkCallsPerToken'>;
  #taken = 0;

  constructor(limits: Pick<ServerLimits, 'bulkCalls' | 'bulkCallsPerToken'>) {
    this.#limits = limits;
  }

  /** Takes a place before anything is waited for, and gives it back after. */
  async hold<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T> {
    const usage = request.admitted?.known?.usage;
    this.#enforce(usage?.bulkCalls ?? 0);
    this.#taken += 1;
    if (usage !== undefined) usage.bulkCalls += 1;
    try {
      return await work();
    } finally {
      this.#taken -= 1;
      if (usage !== undefined) usage.bulkCalls -= 1;
    }
  }

  #enforce(ofToken: number): void {
    const headers = { 'retry-after': '5' };
    if (ofToken >= this.#limits.bulkCallsPerToken) {
      const detail = `Your token has ${ofToken} calls with many lines under way, as many as one token may have. Nothing was changed. Wait for their answers, then try again.`;
      throw new HttpProblem({ status: 429, code: 'too-many-bulk-calls', detail, headers });
    }
    if (this.#taken < this.#limits.bulkCalls) return;
    const detail =
      'This server has as many calls with many lines under way as it takes. Nothing was changed. Try again in a moment.';
    throw new HttpProblem({ status: 503, code: 'too-many-bulk-calls', detail, headers });
  }
}
