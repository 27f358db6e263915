// Submits a scale-in request. A refusal reports every named host, not only the first.
import { EXIT, CommandFailure } from '../exit-code.ts';
import { ApiRefusal } from '../client/problem.ts';
import { resultLines, type HostResult } from './scale-in-text.ts';

export const SCALE_IN_PATH = '/api/v1/scale-in';

export async function explainRefusal<T>(submit: () => Promise<T>): Promise<T> {
  try {
    return await submit();
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    const { hosts = [] } = error.body;
    const lines = hosts.filter(isResult).flatMap((one) => resultLines('start', one));
    if (lines.length === 0) throw error;
    throw new CommandFailure(EXIT.refused, [error.message, ...lines.map((line) => `  ${line}`)].join('\n'), {
      cause: error,
    });
  }
}

function isResult(value: object): value is HostResult {
  const { host, result } = value as Readonly<Record<string, unknown>>;
  return typeof host === 'string' && typeof result === 'string';
}
