// What a wait does while no server answers: it polls again for some seconds, and says at last that the work continues.
import { expect, test } from 'vitest';
import { ApiRefusal } from '../client/problem.ts';
import { EXIT, CommandFailure } from '../exit-code.ts';
import { pollUntilDone, type PollDisplay } from './poll-display.ts';
import { TestSession } from './session-fixture.ts';

const unreachable = (): CommandFailure => new CommandFailure(EXIT.unreachable, 'No Muster server answers.');
const noHolder = (): CommandFailure => new ApiRefusal(503, { code: 'no-holder', detail: 'No server holds the lease.' });

/** Each poll takes five seconds of the session's clock. */
function display(session: TestSession, answers: (string | CommandFailure)[]): PollDisplay<string> {
  return {
    continues: 'The operation op-1 continues.',
    poll: () => {
      session.clockMs += 5000;
      const next = answers.length > 1 ? answers.shift() : answers[0];
      return typeof next === 'string' ? Promise.resolve(next) : Promise.reject(next ?? new Error('no answer'));
    },
    isDone: (seen) => seen === 'succeeded',
    render: (seen) => [seen],
    changedLines: (seen) => [seen],
  };
}

const patient = { interrupted: new AbortController().signal, ended: new AbortController().signal };

test.each([
  ['a-server-that-is-restarted', unreachable],
  ['a-server-that-waits-for-another-to-decide', noHolder],
])('%s is asked again, and it is said once', async (_, away) => {
  const session = new TestSession();
  const polls = display(session, ['running', away(), away(), 'succeeded']);
  expect(await pollUntilDone(session, polls, patient)).toBe('succeeded');
  expect(session.written.err).toBe('running\nThe server does not answer. Asking again for 30 s.\nsucceeded\n');
});

test('a-server-that-stays-away ends the wait, with how to follow the operation', async () => {
  const session = new TestSession();
  const given = pollUntilDone(session, display(session, [unreachable()]), patient);
  await expect(given).rejects.toMatchObject({
    exitCode: EXIT.unreachable,
    message: 'No Muster server answers.\nThe operation op-1 continues.',
  });
});

test.each([
  ['Ctrl-C', AbortSignal.abort(), EXIT.interrupted],
  ['--timeout', new AbortController().signal, EXIT.timeout],
])('%s while no server answers leaves it running, with how to follow it', async (_, interrupted, exitCode) => {
  const session = new TestSession();
  const polls = display(session, [unreachable()]);
  const waited = pollUntilDone(session, polls, { interrupted, ended: AbortSignal.abort() });
  const message = 'No Muster server answers.\nThe operation op-1 continues.';
  await expect(waited).rejects.toMatchObject({ exitCode, message });
});

test('a-refusal is not asked again', async () => {
  const session = new TestSession();
  const notFound = new ApiRefusal(404, { code: 'unknown-operation', detail: 'There is no operation "op-1".' });
  await expect(pollUntilDone(session, display(session, [notFound]), patient)).rejects.toBe(notFound);
  expect(session.written.err).toBe('');
});
