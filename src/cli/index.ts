export { runCli } from './program.ts';
export { DEFAULT_SERVER } from './session.ts';
export { realTerminal } from './terminal.ts';
