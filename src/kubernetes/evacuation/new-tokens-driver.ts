// The driver `kubernetes-new-tokens`: draws a bootstrap token for a worker that joins again, and seals its secret, outside of the decision that stores it. Repeated it
// draws another one, which is as unknown to any caller.
import type { Ids } from '../../journal/index.ts';
import type { Secrets } from '../../keys/index.ts';
import type { Action, ActionOutcome, Driver } from '../../operations/index.ts';
import { WORKER_JOIN } from '../join/model.ts';
import { composeToken } from '../join/new-token.ts';

export interface NewTokensOptions {
  readonly ids: Ids;
  readonly secrets: Pick<Secrets, 'seal'>;
}

export class NewTokensDriver implements Driver {
  readonly #options: NewTokensOptions;

  constructor(options: NewTokensOptions) {
    this.#options = options;
  }

  /** `operation`: that of the join, which the token is sealed for. */
  async carryOut({ args }: Action): Promise<ActionOutcome> {
    const { ids, secrets } = this.#options;
    const owner = { kind: WORKER_JOIN.name, id: String(args['operation']) };
    const token = composeToken(ids, (secret) => secrets.seal(owner, secret));
    if ('code' in token) return { kind: 'failed', reason: { code: 'token-not-sealed', text: token.message } };
    return { kind: 'applied', facts: { token } };
  }
}
