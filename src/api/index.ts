// For the CLI, which may import this module alone.
export { backoffMs } from '../journal/backoff.ts';
export { isLoopback } from '../link/loopback.ts';
