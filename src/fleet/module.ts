import type { Module } from '../composition/index.ts';
import { SETTING } from './setting.ts';

export const fleetModule: Module = { name: 'fleet', models: () => [{ kinds: [SETTING] }] };
