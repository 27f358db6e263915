// How a bug is planted: one operation kind, driver, view part or running part is replaced by a faulty one.
import type { Controller, Module, Runtime, ServiceKey } from '../../src/composition/index.ts';
import type { Index, Projection, ProjectionState } from '../../src/fleet/index.ts';
import { VIEW_PARTS, type ViewPart } from '../../src/hosts/index.ts';
import type { Driver, OperationKind } from '../../src/operations/index.ts';
import type { SimParts } from '../world/parts.ts';

type AnyIndex = Index<string, never>;

function withModules(parts: SimParts, change: (module: Module) => Module): SimParts {
  return { ...parts, modules: parts.modules.map(change) };
}

export function withKinds(
  parts: SimParts,
  names: readonly string[],
  change: (kind: OperationKind) => OperationKind,
): SimParts {
  return withModules(parts, (module) => {
    const { operationKinds } = module;
    if (operationKinds === undefined) return module;
    return {
      ...module,
      operationKinds: (composition) =>
        operationKinds(composition).map((kind) => (names.includes(kind.name) ? change(kind) : kind)),
    };
  });
}

/** Replaces an index of a module's model. */
export function withIndex(parts: SimParts, name: string, change: (index: AnyIndex) => AnyIndex): SimParts {
  return withModules(parts, (module) => {
    const { models } = module;
    if (models === undefined) return module;
    return {
      ...module,
      models: (...given: Parameters<typeof models>) =>
        models(...given).map((model) => ({
          ...model,
          ...(model.indexes && { indexes: model.indexes.map((one) => (one.name === name ? change(one) : one)) }),
        })),
    };
  });
}

export function withDriver(
  parts: SimParts,
  name: string,
  change: (driver: Driver, runtime: Runtime) => Driver,
): SimParts {
  return withModules(parts, (module) => {
    const { drivers } = module;
    if (drivers === undefined) return module;
    return {
      ...module,
      drivers: (runtime) => {
        const all = drivers(runtime);
        const driver = all[name];
        return driver === undefined ? all : { ...all, [name]: change(driver, runtime) };
      },
    };
  });
}

export function withViewPart(parts: SimParts, name: string, change: (part: ViewPart) => ViewPart): SimParts {
  return withModules(parts, (module) => ({
    ...module,
    contributions: (module.contributions ?? []).map((one) => {
      if (one.point !== VIEW_PARTS.name) return one;
      const values = one.values as readonly ViewPart[];
      return { ...one, values: values.map((part) => (part.name === name ? change(part) : part)) };
    }),
  }));
}

/** Replaces a running part; `make` may wrap what would have been made, on any runtime. */
export function withRunningPart<T>(
  parts: SimParts,
  key: ServiceKey<T>,
  make: (runtime: Runtime, production: (runtime: Runtime) => T) => T,
): SimParts {
  const changed = <P extends { readonly key: string; readonly make: (runtime: Runtime) => unknown }>(provider: P): P =>
    provider.key === key.name
      ? { ...provider, make: (runtime: Runtime) => make(runtime, provider.make as (runtime: Runtime) => T) }
      : provider;
  return {
    ...withModules(parts, (module) => ({ ...module, services: (module.services ?? []).map(changed) })),
    providers: (born, world) => parts.providers(born, world).map(changed),
  };
}

/** With a controller more in a module. */
export function withControllers(parts: SimParts, name: string, make: (runtime: Runtime) => Controller): SimParts {
  return withModules(parts, (module) => {
    if (module.name !== name) return module;
    return { ...module, controllers: (runtime) => [...(module.controllers?.(runtime) ?? []), make(runtime)] };
  });
}

/** Replaces what a projection makes of the documents. */
export function withProjection<P extends ProjectionState>(
  parts: SimParts,
  { name }: Projection<P>,
  change: (state: P) => P,
): SimParts {
  const changed = (one: Projection): Projection =>
    one.name === name ? { ...one, create: () => change(one.create() as P) } : one;
  return withModules(parts, (module) => {
    const { models } = module;
    if (models === undefined) return module;
    return {
      ...module,
      models: (composition) =>
        models(composition).map((model) => ({ ...model, projections: (model.projections ?? []).map(changed) })),
    };
  });
}

/** Without the controllers of a module that no service key requires. */
export function withoutControllers(parts: SimParts, name: string): SimParts {
  return withModules(parts, (module) => (module.name === name ? { ...module, controllers: () => [] } : module));
}
