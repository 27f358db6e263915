// Operators' commands for routers, floating addresses, zones and services while hosts leave and join.
import { ELECTION, rebalanceServices, SERVICE } from '../../src/election/index.ts';
import { editService, moveService } from '../../src/election/move.ts';
import { idOf, type Kind } from '../../src/fleet/index.ts';
import { HOST } from '../../src/hosts/index.ts';
import { GROUP } from '../../src/instances/index.ts';
import { editGroup } from '../../src/instances/catalog/groups.ts';
import { createFloatingAddress, deleteFloatingAddress } from '../../src/network/routers/decide-floating-address.ts';
import { createRouter, deleteRouter, editRouter } from '../../src/network/routers/decide.ts';
import { editSubnet } from '../../src/network/decisions-fixture.ts';
import { createTransportZone, editTransportZone } from '../../src/network/tunnels/decide-transport-zone.ts';
import { FLOATING_ADDRESS, PORT, ROUTER } from '../../src/network/index.ts';
import { OPERATION } from '../../src/operations/index.ts';
import type { Rng } from '../kernel/rng.ts';
import type { OperatorCommand } from '../world/operator.ts';
import type { World } from '../world/world.ts';
import { plain } from './commands.ts';
import { OUTSIDE, ROUTERS, changeSettingTo, ZONES, type ScaleInSetup } from './scale-in-setup.ts';

type MaybeCommand = OperatorCommand<unknown> | undefined;

const HANDOVER_DEADLINES_MS = [4000, 600_000, 600_000];

export class ServiceActions {
  readonly #world: World;
  readonly #setup: ScaleInSetup;
  readonly #rng: Rng;

  constructor(world: World, ground: ScaleInSetup) {
    this.#world = world;
    this.#setup = ground;
    this.#rng = world.rng.fork();
  }

  next(tag: string): MaybeCommand {
    const { act } = this.#rng.pickWeighted<{ readonly weight: number; readonly act: (by: string) => MaybeCommand }>([
      { weight: 8, act: (by) => this.#newRouter(by) },
      { weight: 3, act: (by) => this.#dropRouter(by) },
      { weight: 5, act: (by) => this.#turnRouter(by) },
      { weight: 5, act: (by) => this.#float(by) },
      { weight: 4, act: (by) => this.#sink(by) },
      { weight: 6, act: (by) => this.#zone(by) },
      { weight: 7, act: (by) => this.#move(by) },
      { weight: 5, act: (by) => this.#rules(by) },
      { weight: 2, act: (by) => this.#rebalance(by) },
      { weight: 4, act: (by) => this.#hold(by) },
      { weight: 3, act: (by) => this.#limit(by) },
      { weight: 3, act: (by) => this.#dhcp(by) },
    ]);
    return act(tag);
  }

  #newRouter(by: string): MaybeCommand {
    const rng = this.#rng;
    const name = rng.pick(ROUTERS);
    const subnets = this.#setup.subnets.filter(() => rng.chance(0.4));
    const request = { name, subnets, ...(rng.chance(0.9) && { externalNetwork: OUTSIDE }), admin: true, by };
    return plain(by, (fleet, nowMs, { ids }) => createRouter(fleet, { ...request, portId: ids.next('port'), nowMs }));
  }

  #dropRouter(by: string): MaybeCommand {
    const id = this.#one(ROUTER);
    return id === undefined ? undefined : plain(by, (fleet) => deleteRouter(fleet, { id }));
  }

  #turnRouter(by: string): MaybeCommand {
    const rng = this.#rng;
    const id = this.#one(ROUTER);
    if (id === undefined) return undefined;
    const subnet = rng.pick(this.#setup.subnets);
    const edit = rng.pick([
      { addSubnets: [subnet] },
      { removeSubnets: [subnet] },
      { externalNetwork: OUTSIDE },
      { externalNetwork: rng.chance(0.3) ? null : OUTSIDE },
    ]);
    return plain(by, (fleet, nowMs, { ids }) =>
      editRouter(fleet, { id, edit, portId: ids.next('port'), admin: true, by, nowMs }),
    );
  }

  #float(by: string): MaybeCommand {
    const ports = [...this.#world.truth.all(PORT)].filter(
      ({ doc }) => doc.network !== OUTSIDE && doc.instance !== undefined,
    );
    const to = ports.length === 0 ? {} : { port: this.#rng.pick(ports).id };
    return plain(by, (fleet, nowMs, { ids }) =>
      createFloatingAddress(fleet, {
        id: ids.next('floating'),
        portId: ids.next('port'),
        network: OUTSIDE,
        ...to,
        admin: true,
        by,
        nowMs,
      }),
    );
  }

  #sink(by: string): MaybeCommand {
    const id = this.#one(FLOATING_ADDRESS);
    return id === undefined ? undefined : plain(by, (fleet) => deleteFloatingAddress(fleet, { id }));
  }

  #zone(by: string): MaybeCommand {
    const rng = this.#rng;
    const [name, mesh] = [rng.pick(ZONES), rng.pick(['full', 'needed'] as const)];
    return rng.chance(0.5)
      ? plain(by, (fleet, nowMs) => createTransportZone(fleet, { name, mesh, by, nowMs }))
      : plain(by, (fleet, nowMs) => editTransportZone(fleet, { id: name, edit: { mesh }, by, nowMs }));
  }

  #move(by: string): MaybeCommand {
    const rng = this.#rng;
    const id = this.#one(SERVICE);
    if (id === undefined) return undefined;
    const to = rng.chance(0.7) ? { host: rng.pick([...this.#world.truth.all(HOST)]).id } : {};
    const how = { id, ...to, ...this.#begin(by) };
    return plain(by, (fleet, nowMs) => moveService(fleet, { ...how, nowMs }));
  }

  #rules(by: string): MaybeCommand {
    const rng = this.#rng;
    const id = this.#one(SERVICE);
    if (id === undefined) return undefined;
    const edit = rng.pick([
      { exclusion: 'hard' },
      { exclusion: 'soft' },
      { onControlLoss: 'hold' },
      { onControlLoss: 'move' },
    ] as const);
    return plain(by, (fleet, nowMs) => editService(fleet, { id, edit, by, nowMs }));
  }

  #rebalance(by: string): MaybeCommand {
    const how = this.#begin(by);
    return plain(by, (fleet, nowMs) => rebalanceServices(fleet, { ...how, nowMs }));
  }

  /** As for an upgrade; releasing them may be forgotten. */
  #hold(by: string): MaybeCommand {
    const handoversAtOnce = this.#rng.pick([1, 2, 256]);
    const value = { ...ELECTION.defaultValue, handoversAtOnce, held: this.#rng.chance(0.25) };
    return plain(by, changeSettingTo(ELECTION, value, by));
  }

  #limit(by: string): MaybeCommand {
    const name = this.#one(GROUP);
    if (name === undefined) return undefined;
    const movesAtOnce = this.#rng.pick([null, 1, 2]);
    return plain(by, (fleet, nowMs) => editGroup(fleet, { name, movesAtOnce, by, nowMs }));
  }

  #dhcp(by: string): MaybeCommand {
    const id = this.#rng.pick(this.#setup.subnets);
    const edit = { dhcp: this.#rng.chance(0.6) };
    return plain(by, (fleet, nowMs) => editSubnet(fleet, { id, edit, by, nowMs }));
  }

  #begin(by: string) {
    return { operation: idOf(OPERATION, `op-${by}`), by, deadlineMs: this.#rng.pick(HANDOVER_DEADLINES_MS) };
  }

  #one<K extends string, D extends object>(kind: Kind<K, D>): string | undefined {
    const all = [...this.#world.truth.all(kind)];
    return all.length === 0 ? undefined : this.#rng.pick(all).id;
  }
}
