export type { Starters } from './command.ts';
export { EXIT, Failure } from './exit-code.ts';
export { runCli } from './program.ts';
export { DEFAULT_SERVER } from './session.ts';
export { realTerminal } from './terminal.ts';
export type { Terminal } from './terminal.ts';
