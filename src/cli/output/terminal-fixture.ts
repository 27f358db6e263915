// A terminal for tests: what was written to it, and a command line run on it.
import type { NodeTools, Starters, StoreTools } from '../command.ts';
import { runCli } from '../program.ts';
import { recordTerminal } from './recording-terminal-fixture.ts';
import type { Terminal } from './terminal.ts';

export interface RunResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions extends Partial<Pick<Terminal, 'env' | 'outIsTerminal' | 'errIsTerminal'>> {
  readonly starters?: Starters;
  readonly node?: NodeTools;
}

const idle = (): Promise<number> => Promise.resolve(0);
const IDLE: Starters = { serve: idle, demo: idle, agent: idle, manager: idle };

export const NO_NODE: NodeTools = {
  showKeys: () => Promise.reject(new Error('there are no keys here')),
  createKeys: () => Promise.reject(new Error('there are no keys here')),
  rotateKeys: () => Promise.reject(new Error('there are no keys here')),
  compareSwitch: () => Promise.reject(new Error('there is no switch here')),
  tracePacket: () => Promise.reject(new Error('there is no switch here')),
};

const NO_STORE: StoreTools = {
  verify: () => Promise.reject(new Error('there is no store here')),
  backup: () => Promise.reject(new Error('there is no store here')),
  restore: () => Promise.reject(new Error('there is no store here')),
};

export async function runWords(words: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const { starters = IDLE, node = NO_NODE, ...facts } = options;
  const { terminal, written } = recordTerminal(facts);
  const code = await runCli(words, { terminal, version: '1.2.3', starters, node, stores: NO_STORE });
  return { code, ...written };
}
