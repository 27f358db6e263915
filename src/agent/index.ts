export { recordAnswer } from './decide.ts';
export type { Stamp, View } from './messages.ts';
export { composeView } from './view.ts';
