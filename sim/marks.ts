// The guards that the fixed seeds must hit. One that is never hit is a guard that nothing tests: the run fails.

export const EXPECTED_MARKS: readonly string[] = [
  'agent-follows-holder',
  'agent-refuses-old-view',
  'desk-join-repeated',
  'desk-stale-answer',
  'engine-deadline-passed',
  'engine-no-room',
  'engine-stale-step',
  'journal-conflict-head',
  'journal-conflict-lease',
  'journal-doubt-resolved',
  'journal-doubt-told',
  'journal-gave-up',
  'journal-group-dropped',
  'journal-queue-rejected',
  'journal-read-gone',
  'lease-lost',
  'lease-taken',
  'liveness-own-absence',
  'mass-silence-held',
];

/** Those that the fixed seeds of the world with instances must hit. */
export const INSTANCE_MARKS: readonly string[] = [
  'address-given-away',
  'agent-too-old-for-task',
  'back-end-asked-again',
  'bind-mapping-gone',
  'build-ended-by-delete',
  'build-goes-on-elsewhere',
  'build-releases-what-is-outside',
  'build-sweeps-its-host',
  'build-waits-for-a-silent-host',
  'delete-waits-for-silent-host',
  'delete-waits-for-work',
  'gate-bind-closed',
  'gate-closed-without-credentials',
  'gate-create-closed',
  'host-left-out-until-swept',
  'host-to-be-swept',
  'kept-without-host',
  'move-arrives-cut-off',
  'move-goes-on-elsewhere',
  'move-is-not-ours',
  'move-source-lost',
  'move-target-lost',
  'network-event-late',
  'network-event-repeated',
  'network-order-stale',
  'network-order-unanswered',
  'network-order-without-credentials',
  'pool-excluded',
  'task-found-done',
  'together-too-few',
];

/** Guards that this world cannot reach, and where they are tested instead. */
export const MARKS_ELSEWHERE: Readonly<Record<string, string>> = {
  'journal-conflict-resource': 'needs a store that differs from its own journal: src/journal/journal.test.ts',
  'journal-read-diverged': 'needs a standby that lags and is promoted: src/journal/journal.test.ts, test/postgres',
  'desk-removed-host': 'needs hosts that leave service: scale-in brings them',
};
