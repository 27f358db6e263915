export { escapeControls } from './output/escape.ts';
export { runCli } from './program.ts';
export { DEFAULT_SERVER } from './session.ts';
export { realTerminal } from './output/terminal.ts';
export { EXIT, CommandFailure } from './exit-code.ts';
export type {
  KeysSummary,
  NodeTools,
  StoreToolOptions,
  StoreKeys,
  StoreKeysPlace,
  StoreSecretKeys,
  StoreSecretKeysPlace,
  StoreTools,
  SwitchOptions,
} from './command.ts';
