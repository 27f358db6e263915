import { describe, expect, test } from 'vitest';
import { Fleet, Registry, type Fleet as AnyFleet } from '../fleet/index.ts';
import {
  acknowledgeAlarm,
  clockJumpedFinding,
  historyDivergedFinding,
  integritySentences,
  isClockDoubted,
  raiseFinding,
} from './integrity.ts';
import { ALARM, alarmId, alarmsModel, raiseAlarm } from './model.ts';

function fleetWith(...findings: readonly Parameters<typeof raiseFinding>[1][]): AnyFleet {
  const fleet = new Fleet(new Registry([alarmsModel]));
  fleet.finishLoad(0);
  findings.forEach((finding, at) => fleet.apply(at + 1, raiseFinding(fleet, finding, 1000)));
  return fleet;
}

describe('alarms about the store', () => {
  test('history that diverged: one alarm for each range, with the revisions in its sentence', () => {
    const lost = historyDivergedFinding({ lostFrom: 41, lostTo: 57, head: 44 });
    const fleet = fleetWith(lost);
    expect(raiseFinding(fleet, lost, 2000)).toEqual([]);
    const alarm = fleet.get(ALARM, alarmId('history-diverged', '41-57'));
    expect(integritySentences['history-diverged']?.(alarm!.doc.reason)).toContain('revisions 41 to 57');
    const unknown = historyDivergedFinding({ lostFrom: undefined, lostTo: 57, head: 44 });
    expect(unknown.place).toBe('unknown-57');
  });

  test('the clock is doubted until the alarm is acknowledged', () => {
    const fleet = fleetWith(clockJumpedFinding('m1:7070', 'it went back'));
    expect(isClockDoubted(fleet)).toBe(true);
    const decision = acknowledgeAlarm(fleet, 'clock-jumped:m1:7070');
    if (decision.kind === 'accept') fleet.apply(2, decision.changes);
    expect(isClockDoubted(fleet)).toBe(false);
    expect(acknowledgeAlarm(fleet, 'clock-jumped:m1:7070')).toMatchObject({ refusal: { code: 'no-such-alarm' } });
  });

  test.each(['[::1]:7070', 'm1.example:7070', '127.0.0.1:0', 'sim://m1'])(
    'a clock is named after any address: %s',
    (server) => {
      expect(isClockDoubted(fleetWith(clockJumpedFinding(server, 'it went back')))).toBe(true);
    },
  );

  test('who confirms the clock of one server has not confirmed that of another', () => {
    const fleet = fleetWith(
      clockJumpedFinding('m1:7070', 'it went back'),
      clockJumpedFinding('m2:7070', 'it went ahead'),
    );
    const decision = acknowledgeAlarm(fleet, 'clock-jumped:m1:7070');
    if (decision.kind === 'accept') fleet.apply(3, decision.changes);
    expect(isClockDoubted(fleet)).toBe(true);
  });

  test('an alarm that is cleared by its cause is not acknowledged', () => {
    const fleet = fleetWith();
    fleet.apply(
      1,
      raiseAlarm(fleet, alarmId('mass-silence', 'x'), {
        severity: 'critical',
        reason: { code: 'mass-silence' },
        sinceMs: 1,
      }),
    );
    expect(acknowledgeAlarm(fleet, 'mass-silence:x')).toMatchObject({ refusal: { code: 'alarm-clears-itself' } });
  });
});
