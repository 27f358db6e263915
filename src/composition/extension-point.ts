// How one module lets others add to it without knowing them: it declares a point, others contribute values to it, and
// `compose()` collects them. Evacuators and view parts are examples.

export interface ExtensionPoint<T> {
  readonly name: string;
  /** Only for the type checker: what is contributed here. */
  readonly contributed?: (value: T) => T;
}

export interface Contribution {
  /** The name of the point. */
  readonly point: string;
  readonly values: readonly unknown[];
}

export function extensionPoint<T>(name: string): ExtensionPoint<T> {
  return { name };
}

export function contribute<T>(point: ExtensionPoint<T>, ...values: readonly T[]): Contribution {
  return { point: point.name, values };
}
