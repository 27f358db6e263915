export type { AgentWord } from './desk.ts';
export type { Report, Stamp, View } from './messages.ts';
export { digestOf } from './digest.ts';
export { refusalOf } from './stamp.ts';
export { composeView } from './view.ts';
export type { ViewSource } from './view.ts';
