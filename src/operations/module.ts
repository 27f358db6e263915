import { provide, provideController, serviceKey, type DocumentMetric, type Module } from '../composition/index.ts';
import { OperationsController } from './controller.ts';
import { LeaseController, type LeaseOptions } from './lease-controller.ts';
import { ITEM, OPERATION, operationsModel, type Operation } from './model.ts';
import { operationSentences } from './reason.ts';
import { OPERATION_REASON_CODES } from './reason-codes.ts';
import { operationRoutes, operationRepresentations } from './routes.ts';

export const OPERATIONS_CONTROLLER = serviceKey<OperationsController>('operations');

/** Who decides. Each program runs it by itself: it ends after all other controllers, so that the next holder need not wait. */
export const LEASE_CONTROLLER = serviceKey<LeaseController>('lease');

/** Who this server is to the others. */
export const LEASE_IDENTITY = serviceKey<Omit<LeaseOptions, 'journal' | 'clock' | 'log'>>('lease-identity');

const OPERATIONS_METRIC: DocumentMetric<Operation> = {
  name: 'muster_operations',
  help: 'Operations by kind and state',
  kind: OPERATION,
  labels: ['kind', 'state'],
  labelsOf: (doc) => [doc.kind, doc.state],
};

export const operationsModule: Module = {
  name: 'operations',
  models: () => [operationsModel],
  reasonCodes: OPERATION_REASON_CODES,
  sentences: [operationSentences],
  representations: ({ explain }) => {
    const { operation, item } = operationRepresentations(explain);
    return [operation, item];
  },
  metrics: [OPERATIONS_METRIC],
  requires: [LEASE_IDENTITY],
  services: [
    provide(
      LEASE_CONTROLLER,
      (runtime) => new LeaseController({ ...runtime.environment, ...runtime.get(LEASE_IDENTITY) }),
    ),
    provideController(OPERATIONS_CONTROLLER, (runtime) => {
      const { environment, composition } = runtime;
      return new OperationsController({
        ...environment,
        kinds: composition.operationKinds,
        drivers: runtime.drivers(),
      });
    }),
  ],
  routes: ({ composition }) =>
    operationRoutes({
      representations: { operation: composition.representationOf(OPERATION), item: composition.representationOf(ITEM) },
      kinds: composition.operationKinds,
    }),
};
