import { hideKind, type Module } from '../composition/index.ts';
import { BUILD_FAILURES } from './build-failures.ts';
import { schedulerModel } from './model.ts';
import { SCHEDULER } from './settings.ts';

export const schedulerModule: Module = {
  name: 'scheduler',
  models: () => [schedulerModel],
  settings: [SCHEDULER],
  hiddenKinds: [hideKind(BUILD_FAILURES)],
};
