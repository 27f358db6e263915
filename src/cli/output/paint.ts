// Colours, for terminals only. A colour is never the only thing that says something.
import { controlSequence } from './escape.ts';

export type Colour = 'red' | 'green' | 'yellow' | 'blue' | 'dim' | 'bold';

export type Paint = (colour: Colour | undefined, text: string) => string;

const CODES: Readonly<Record<Colour, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
};

export function painter(colours: boolean): Paint {
  if (!colours) return (_colour, text) => text;
  return (colour, text) => {
    if (colour === undefined || text === '') return text;
    const [on, off] = CODES[colour];
    return `${controlSequence(`${on}m`)}${text}${controlSequence(`${off}m`)}`;
  };
}

/** See no-color.org: the variable counts when it is set to anything but nothing. */
export function wantsColours(options: {
  readonly terminal: boolean;
  readonly option: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}): boolean {
  const { terminal, option, env } = options;
  const unwanted = env['NO_COLOR'];
  if (!option || (unwanted !== undefined && unwanted !== '')) return false;
  return terminal && env['TERM'] !== 'dumb';
}

const STATE_COLOURS: Readonly<Record<string, Colour>> = {
  active: 'green',
  up: 'green',
  succeeded: 'green',
  done: 'green',
  joining: 'blue',
  building: 'blue',
  moving: 'blue',
  rebuilding: 'blue',
  shelving: 'blue',
  deleting: 'dim',
  shelved: 'dim',
  running: 'blue',
  pending: 'dim',
  unknown: 'dim',
  removed: 'dim',
  cancelled: 'dim',
  waiting: 'yellow',
  suspect: 'yellow',
  warning: 'yellow',
  degraded: 'yellow',
  draining: 'yellow',
  drained: 'yellow',
  finalizing: 'yellow',
  recovering: 'yellow',
  cancelling: 'yellow',
  down: 'red',
  failed: 'red',
  error: 'red',
  critical: 'red',
};

/** The colour of a state's word, wherever it is printed. */
export function stateColour(state: string): Colour | undefined {
  return STATE_COLOURS[state];
}
