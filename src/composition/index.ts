export { compose, ROUTE_TRANSFORMS } from './compose.ts';
export type { Composition } from './compose.ts';
export type { DocumentMetric } from './document-metric.ts';
export { contribute, extensionPoint } from './extension-point.ts';
export { hideKind } from './module.ts';
export type { Module } from './module.ts';
export { DRIVER_WRAPPER, provide, provideController, Runtime, serviceKey } from './server-runtime.ts';
export type { Controller, Provider, ServiceKey } from './server-runtime.ts';
