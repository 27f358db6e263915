// The initial objects of a world with bare metal: a network with wired segments, flavors, nodes of several shapes with simulated machines, and managers, some
// of them inside servers. All of it is drawn.
import { SIMULATED_INVENTORY } from '../../../src/baremetal/drivers/simulated/settings.ts';
import { MANAGERS } from '../../../src/baremetal/managers/settings.ts';
import { MANAGER, NODE } from '../../../src/baremetal/index.ts';
import { enrolNode, type NodeSpec } from '../../../src/baremetal/nodes/enrol.ts';
import { idOf, put, type FleetReader, type Setting } from '../../../src/fleet/index.ts';
import { createFlavor, type CreateFlavor } from '../../../src/instances/decisions-fixture.ts';
import { FLAVOR } from '../../../src/instances/index.ts';
import { accept, refuse } from '../../../src/journal/index.ts';
import type { Rng } from '../../kernel/rng.ts';
import { InventoryPath } from '../../world/managers/inventory-port.ts';
import { SimManager } from '../../world/managers/manager.ts';
import type { World } from '../../world/world.ts';
import { SITES } from '../admin.ts';
import { once, plain } from '../commands.ts';
import { InstanceSetup, type SetupPlan } from '../instance-setup.ts';
import { changeSettingTo } from '../scale-in-setup.ts';

export const NETWORK = 'rack';
const WIRES = ['p1', 'p2'];
const GPU = 'CUSTOM_GPU';

type Metal = Pick<CreateFlavor, 'name' | 'vcpus' | 'memoryMiB' | 'diskGiB' | 'bareMetal'>;

/** Any node, those of a class, those with a trait or a capability. */
export const METAL: readonly Metal[] = [
  { name: 'metal', vcpus: 4, memoryMiB: 1024, diskGiB: 10, bareMetal: {} },
  {
    name: 'metal-big',
    vcpus: 8,
    memoryMiB: 4096,
    diskGiB: 10,
    bareMetal: { extraSpecs: { 'resources:CUSTOM_BIG': '1' }, swapMiB: 512 },
  },
  {
    name: 'metal-gpu',
    vcpus: 4,
    memoryMiB: 1024,
    diskGiB: 10,
    bareMetal: { extraSpecs: { [`trait:${GPU}`]: 'required' } },
  },
  {
    name: 'metal-uefi',
    vcpus: 4,
    memoryMiB: 1024,
    diskGiB: 10,
    bareMetal: { extraSpecs: { capabilities: 'supports_uefi', [`trait:${GPU}`]: 'forbidden' } },
  },
];

const SKEW_MS = 4000;
const MANAGERS_WAITED_MS = 20_000;

export class BaremetalSetup extends InstanceSetup {
  /** Those that are enrolled at first, and some that are not. */
  readonly nodes: readonly NodeSpec[];
  readonly #world: World;
  readonly #rng: Rng;

  constructor(world: World) {
    super(world, () => plan);
    this.#world = world;
    this.#rng = world.rng.fork();
    world.inventory = new InventoryPath(this.#rng.fork());
    // They agree to within some seconds, as badly kept clocks do.
    if (this.#rng.chance(0.5))
      for (const server of world.servers) server.setClock(this.#rng.between(-SKEW_MS, SKEW_MS));
    this.nodes = Array.from({ length: this.#rng.between(4, 12) }, (_, at) => drawNode(this.#rng, `n${at + 1}`));
  }

  override async create(): Promise<void> {
    const world = this.#world;
    await super.create();
    await this.#settings();
    for (const flavor of METAL) await this.#flavor(flavor);
    await this.#enrol();
    this.#managers();
    const { operator } = this.admin;
    const untilMs = world.scheduler.nowMs + MANAGERS_WAITED_MS;
    while (world.isTroubled && world.truth.count(MANAGER) < world.managers.length && world.scheduler.nowMs < untilMs)
      await operator.pause(500);
  }

  async #settings(): Promise<void> {
    const rng = this.#rng;
    await this.#set(
      MANAGERS,
      rng.pick([
        { leaseMs: 15_000, renewMs: 5000 },
        { leaseMs: 8000, renewMs: 2000 },
      ]),
    );
    await this.#set(SIMULATED_INVENTORY, {
      claims: rng.pick(['inline', 'inline', 'endpoint', 'direct']),
      checksEpochs: rng.chance(0.7),
      deployMs: rng.pick([0, 1000, 5000, 12_000]),
      cleanMs: rng.pick([0, 1000, 5000]),
      powerMs: rng.pick([0, 500]),
    });
  }

  async #set<T>(setting: Setting<T>, value: T): Promise<void> {
    const tag = this.admin.tag(`set-${setting.name}`);
    await this.admin.insist(plain(tag, changeSettingTo(setting, value, tag)));
  }

  async #flavor(flavor: Metal): Promise<void> {
    const tag = this.admin.tag(`flavor-${flavor.name}`);
    const isMade = (fleet: FleetReader): boolean => fleet.get(FLAVOR, idOf(FLAVOR, flavor.name)) !== undefined;
    await this.admin.insist(once(tag, isMade, (fleet, nowMs) => createFlavor(fleet, { ...flavor, by: tag, nowMs })));
  }

  async #enrol(): Promise<void> {
    const tag = this.admin.tag('enrol');
    const enrolled = this.nodes.slice(0, Math.max(3, this.nodes.length - 2));
    await this.admin.insist(
      once(tag, hasNodes, (fleet, nowMs) => {
        const made = enrolled.map((spec) => ({ spec, enrolled: enrolNode(fleet, spec, { by: tag, nowMs }) }));
        const changes = [];
        for (const { spec, enrolled: one } of made) {
          if ('code' in one) return refuse(one);
          changes.push(put(NODE, idOf(NODE, spec.name), one.node));
        }
        return accept(changes, null);
      }),
    );
  }

  #managers(): void {
    const world = this.#world;
    const rng = this.#rng;
    const between = world.newLink();
    for (let nth = 1, count = rng.between(2, 4); nth <= count; nth += 1) {
      const server = rng.chance(0.5) ? world.servers[nth - 1] : undefined;
      const site = rng.chance(0.5) ? rng.pick(SITES) : undefined;
      const manager = new SimManager(world, { name: `m${nth}`, embeddedIn: server, site, between });
      world.managers.push(manager);
      if (server === undefined) {
        world.scheduler.after(rng.between(0, 2000), `${manager.name} is started`, () => manager.start());
      } else if (server.incarnation !== undefined) manager.startIn(server.incarnation);
    }
  }
}

const hasNodes = (fleet: FleetReader): boolean => fleet.count(NODE) > 0;

const plan: SetupPlan = {
  hosts: [],
  networks: [
    {
      name: NETWORK,
      backEnd: 'embedded',
      segments: new Map(WIRES.map((wire) => [`${NETWORK}-${wire}`, wire])),
      subnets: WIRES.map((wire, at) => ({
        name: `${NETWORK}-${wire}-v4`,
        segment: `${NETWORK}-${wire}`,
        cidr: `10.9.${at}.0/26`,
        first: `10.9.${at}.10`,
        last: `10.9.${at}.13`,
      })),
    },
  ],
};

function drawNode(rng: Rng, name: string): NodeSpec {
  const [resourceClass, memoryMiB, cpus] = rng.pick([
    ['small', 2048, 4],
    ['small', 2048, 4],
    ['big', 8192, 16],
    [undefined, 4096, 8],
  ] as const);
  return {
    name,
    ...(resourceClass !== undefined && { resourceClass }),
    ...{ memoryMiB, cpus, localGiB: 100, power: 'off' },
    traits: rng.chance(0.4) ? [GPU] : [],
    ...(rng.chance(0.5) && { capabilities: 'supports_uefi:true' }),
    ...(rng.chance(0.7) && { site: rng.pick(SITES) }),
    physicalNetworks: WIRES.filter(() => rng.chance(0.8)),
  };
}
