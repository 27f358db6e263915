export { escapeControls } from './escape.ts';
export { runCli } from './program.ts';
export { DEFAULT_SERVER } from './session.ts';
export { realTerminal } from './terminal.ts';
export { EXIT, Failure } from './exit-code.ts';
export type {
  KeysShown,
  NodeTools,
  StoreAsked,
  StoreKeys,
  StoreKeysPlace,
  StoreTools,
  SwitchAsked,
} from './command.ts';
