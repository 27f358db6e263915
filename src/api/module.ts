import type { Module } from '../composition/index.ts';
import { evacuatorsOf } from '../hosts/index.ts';
import { restconfRoutes } from './restconf/routes.ts';
import { SETTING_REPRESENTATION } from './settings.ts';

export const apiModule: Module = {
  name: 'api',
  representations: () => [SETTING_REPRESENTATION],
  routes: ({ composition }) => restconfRoutes({ evacuators: evacuatorsOf(composition), explain: composition.explain }),
};
