import { noProject } from '../access/index.ts';
import { hideKind, type Module } from '../composition/index.ts';
import { siteOfHost } from '../hosts/index.ts';
import { BUILD_FAILURES } from './build-failures.ts';
import { schedulerModel } from './model.ts';
import { SCHEDULER } from './settings.ts';

export const schedulerModule: Module = {
  name: 'scheduler',
  models: () => [schedulerModel],
  settings: [SCHEDULER],
  hiddenKinds: [
    hideKind(BUILD_FAILURES, { siteOf: (doc, fleet) => siteOfHost(fleet, doc.host), projectOf: noProject }),
  ],
};
