// The port to machines by SSH: a script is run there. It remembers nothing between two calls, and each has a connection of its own.
import type { Clock } from '../../../journal/index.ts';
import type { ClusterCallOptions } from '../../cluster-api/cluster-api.ts';
import type { ContactAnswer, JoinCall, LeaveCall, Reach, ReachAnswer } from '../reach.ts';
import { fingerprintOf, openConnection, readMachineKey, type ConnectLimits } from './connection-driver.ts';
import type { SshMachine } from './machine.ts';
import { OutputTail } from './output-tail.ts';
import { runScript, type ScriptLimits } from './script-driver.ts';
import { composeCommand, composeInput, type ScriptAction } from './script-input.ts';

export type SshLimits = ConnectLimits & ScriptLimits;

export class SshReach implements Reach {
  readonly #machine: SshMachine;
  readonly #clock: Clock;
  readonly #limits: SshLimits;

  constructor(machine: SshMachine, clock: Clock, limits: SshLimits = {}) {
    this.#machine = machine;
    this.#clock = clock;
    this.#limits = limits;
  }

  async contact({ signal }: ClusterCallOptions): Promise<ContactAnswer> {
    const seen = await readMachineKey(this.#machine, signal, this.#limits);
    if ('kind' in seen) return seen;
    return { kind: 'contacted', key: `${seen.type} ${seen.blob}`, fingerprint: fingerprintOf(seen) };
  }

  join(call: JoinCall, how: ClusterCallOptions): Promise<ReachAnswer> {
    return this.#run(['install', 'join'], call, how);
  }

  leave(call: LeaveCall, how: ClusterCallOptions): Promise<ReachAnswer> {
    return this.#run(['leave'], call, how);
  }

  /** One after the other, until one of them fails. */
  async #run(
    actions: readonly ScriptAction[],
    call: JoinCall | LeaveCall,
    { signal }: ClusterCallOptions,
  ): Promise<ReachAnswer> {
    const connection = await openConnection(this.#machine, signal, this.#limits);
    if ('kind' in connection) return connection;
    const { script, mask, address } = this.#machine;
    const tail = new OutputTail(mask);
    const run = { tail, mask, clock: this.#clock, signal, limits: this.#limits };
    try {
      for (const [nth, action] of actions.entries()) {
        const command = composeCommand(action, address);
        const end = await runScript(connection, { ...run, command, input: composeInput(script, call, action) });
        if (end.kind === 'not-begun' && nth === 0) return { kind: 'unreachable', text: end.text };
        if (end.kind !== 'exited') return { kind: 'cut-off', text: end.text, output: tail.render() };
        if (end.code !== 0) return { kind: 'ended', exitCode: end.code, output: tail.render() };
      }
      return { kind: 'ended', exitCode: 0, output: tail.render() };
    } finally {
      connection.close();
    }
  }
}
