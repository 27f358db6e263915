export { recordAnswer } from './server/decide.ts';
export type { Stamp, View } from './protocol/messages.ts';
export { composeView } from './server/compose-view.ts';
