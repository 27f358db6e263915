// For the CLI, which may import this module alone.
export { backoffMs } from '../journal/index.ts';
export { isLoopback } from '../link/index.ts';
