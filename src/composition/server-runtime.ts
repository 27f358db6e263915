// The running parts of one server: each module's services, controllers, drivers and routes, made from the same environment. Services
// are made when they are first requested, so that modules need not know in which order.
import type { Route } from '../access/index.ts';
import type { Clock, Ids, Journal } from '../journal/index.ts';
import type { Driver, Log } from '../operations/index.ts';
import { maskDriver, SECRET_MASK } from './mask-outcomes.ts';
import { BadComposition, ROUTE_TRANSFORMS, type Composition } from './compose.ts';

export interface Controller {
  run(signal: AbortSignal): Promise<void>;
}

/** The key of a running part. */
export interface ServiceKey<T> {
  readonly name: string;
  /** Only for the type checker. */
  readonly provided?: (value: T) => T;
}

/** What is found under a key. */
export type ServiceOf<K> = K extends ServiceKey<infer T> ? T : never;

/** A key whatever it stands for. */
export type RequiredKey = Pick<ServiceKey<unknown>, 'name'>;

export interface Provider {
  /** The name of its key. */
  readonly key: string;
  readonly make: (runtime: Runtime) => unknown;
  /** Whether it is a controller, which runs for as long as the server does. */
  readonly runs: boolean;
}

export function serviceKey<T>(name: string): ServiceKey<T> {
  return { name };
}

/** A part that only answers. */
export function provide<T>(key: ServiceKey<T>, make: (runtime: Runtime) => T): Provider {
  return { key: key.name, make, runs: false };
}

/** A part that others use and that also runs as a controller. */
export function provideController<T extends Controller>(key: ServiceKey<T>, make: (runtime: Runtime) => T): Provider {
  return { key: key.name, make, runs: true };
}

/** What every part of a server needs. */
export interface Environment {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** Put around every driver, for tests and simulations that watch or break what drivers do. */
export const DRIVER_WRAPPER = serviceKey<(name: string, driver: Driver) => Driver>('driver-wrapper');

export class Runtime {
  readonly composition: Composition;
  readonly environment: Environment;
  readonly #providers: ReadonlyMap<string, Provider>;
  readonly #made: Map<string, unknown>;
  readonly #underWay: string[] = [];

  /** Providers of the server itself, and those that replace a module's, come after those of the modules. */
  constructor(
    composition: Composition,
    environment: Environment,
    providers: readonly Provider[],
    made = new Map<string, unknown>(),
  ) {
    this.composition = composition;
    this.environment = environment;
    this.#made = made;
    const all = [...composition.modules.flatMap(({ services }) => services ?? []), ...providers];
    this.#providers = new Map(all.map((provider) => [provider.key, provider]));
    this.#refuseMissing();
  }

  /** Found at the start, and not when the part is first used: that may be hours later. */
  #refuseMissing(): void {
    const problems = this.composition.modules.flatMap(({ name, requires = [] }) =>
      requires
        .filter((key) => !this.#providers.has(key.name))
        .map((key) => `nothing provides ${key.name}, which module ${name} needs`),
    );
    if (problems.length > 0) throw new BadComposition(problems);
  }

  /** The same running parts; what is made through it gets another environment. For simulations that lie to one part. */
  withEnvironment(changes: Partial<Environment>): Runtime {
    const providers = [...this.#providers.values()];
    return new Runtime(this.composition, { ...this.environment, ...changes }, providers, this.#made);
  }

  get<T>(key: ServiceKey<T>): T {
    const { name } = key;
    if (this.#made.has(name)) return this.#made.get(name) as T;
    const provider = this.#providers.get(name);
    const requester = this.#underWay.at(-1) ?? 'the server';
    if (provider === undefined) throw new BadComposition([`nothing provides ${name}, which ${requester} needs`]);
    if (this.#underWay.includes(name))
      throw new BadComposition([`services need each other to be made: ${[...this.#underWay, name].join(' -> ')}`]);
    this.#underWay.push(name);
    const made = provider.make(this) as T;
    this.#underWay.pop();
    this.#made.set(name, made);
    return made;
  }

  /** A part that the server may do without. */
  find<T>(key: ServiceKey<T>): T | undefined {
    return this.#providers.has(key.name) ? this.get(key) : undefined;
  }

  controllers(): readonly Controller[] {
    const running = [...this.#providers.values()].filter(({ runs }) => runs);
    return [
      ...running.map(({ key }) => this.get(serviceKey<Controller>(key))),
      ...this.composition.modules.flatMap(({ controllers }) => controllers?.(this) ?? []),
    ];
  }

  drivers(): ReadonlyMap<string, Driver> {
    const wrap = this.find(DRIVER_WRAPPER) ?? ((_name, driver): Driver => driver);
    const drivers = this.composition.modules.flatMap((module) => Object.entries(module.drivers?.(this) ?? {}));
    const mask = this.find(SECRET_MASK);
    const applyMask = (driver: Driver): Driver => (mask === undefined ? driver : maskDriver(driver, mask));
    return new Map(drivers.map(([name, driver]) => [name, wrap(name, applyMask(driver))]));
  }

  routes(): readonly Route[] {
    const transforms = this.composition.all(ROUTE_TRANSFORMS);
    const routes = this.composition.modules.flatMap((module) => module.routes?.(this) ?? []);
    return routes.map((route) => transforms.reduce((changed, transform) => transform(changed), route));
  }
}
