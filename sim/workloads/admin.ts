// Sets a fleet up: sites, quick liveness, hosts with their machines and join tokens.
import { createToken, secretText, TOKEN } from '../../src/access/index.ts';
import { idOf, put, SETTING, type FleetReader } from '../../src/fleet/index.ts';
import { joinHosts, LIVENESS, type HostSpec } from '../../src/hosts/index.ts';
import { accept } from '../../src/journal/index.ts';
import { OPERATION, type OperationId } from '../../src/operations/index.ts';
import { createSite, SITE } from '../../src/sites/index.ts';
import type { HostMachine } from '../world/machine.ts';
import type { OperatorCommand, Operator } from '../world/operator.ts';
import { sha256 } from '../world/parts.ts';
import type { World } from '../world/world.ts';
import { once } from './commands.ts';

/** Shorter than by default, so that hosts are lost and reachable again within the time of a seed. */
const QUICK = { ...LIVENESS.defaultValue, suspectAfterMs: 8000, downAfterMs: 12_000, steadyMs: 1000 };

export const SITES = ['central', 'edge'];

const isQuick = (fleet: FleetReader): boolean => fleet.get(SETTING, LIVENESS.name) !== undefined;

export class Admin {
  readonly operator: Operator;
  readonly #world: World;
  #tags = 0;

  constructor(world: World) {
    this.#world = world;
    this.operator = world.newOperator('admin');
  }

  tag(what: string): string {
    this.#tags += 1;
    return `admin-${this.#tags}-${what}`;
  }

  async prepare(): Promise<void> {
    for (const name of SITES) {
      const tag = this.tag(`site-${name}`);
      const there = (fleet: FleetReader): boolean => fleet.get(SITE, idOf(SITE, name)) !== undefined;
      await this.insist(once(tag, there, (fleet, nowMs) => createSite(fleet, { name, by: tag, nowMs })));
    }
    const tag = this.tag('liveness');
    const change = (nowMs: number) => put(SETTING, LIVENESS.name, { value: QUICK, changedBy: tag, changedAtMs: nowMs });
    await this.insist(once(tag, isQuick, (_fleet, nowMs) => accept([change(nowMs)], null)));
  }

  /** Retries until it is done: without it the rest makes no sense. */
  async insist(command: OperatorCommand<unknown>): Promise<void> {
    while (this.#world.isTroubled && (await this.operator.ask(command)) === undefined) await this.operator.pause(500);
  }

  /** Requests that hosts join; undefined when no request was accepted. */
  async join(hosts: readonly HostSpec[], deadlineMs: number): Promise<OperationId | undefined> {
    const tag = this.tag('join');
    const operation = idOf(OPERATION, `op-${tag}`);
    const started = (fleet: FleetReader): boolean => fleet.get(OPERATION, operation) !== undefined;
    const join = once(tag, started, (fleet, nowMs) =>
      joinHosts(fleet, { hosts, operation, deadlineMs, by: tag, nowMs }),
    );
    return (await this.operator.ask(join))?.kind === 'accepted' ? operation : undefined;
  }

  /** Puts a join token on the machine, as an operator does by hand. */
  async giveToken(machine: HostMachine): Promise<void> {
    const tag = this.tag(`token-${machine.name}`);
    const id = idOf(TOKEN, `tk-${tag}`);
    const secret = secretText(id, `${this.#world.rng.uint32()}`.padEnd(40, 'x'));
    const made = (fleet: FleetReader): boolean => fleet.get(TOKEN, id) !== undefined;
    const token = { name: tag, role: 'join' as const, host: machine.name, hash: sha256(secret), createdBy: tag };
    const outcome = await this.#world
      .newOperator(`installer-${machine.name}`)
      .ask(once(tag, made, (fleet, nowMs) => createToken(fleet, { id, ...token, createdAtMs: nowMs })));
    if (outcome?.kind === 'accepted') machine.joinToken = secret;
  }
}
