// The guards that the fixed seeds must hit. A guard that is never hit is not tested: the run fails.

export const EXPECTED_MARKS: readonly string[] = [
  'action-aborted-deadline-passed',
  'action-aborted-lease-lost',
  'agent-follows-holder',
  'agent-refuses-old-view',
  'caller-denied-in-commit',
  'gateway-join-repeated',
  'stale-task-answer',
  'engine-deadline-passed',
  'engine-driver-at-limit',
  'engine-stale-step',
  'journal-conflict-head',
  'journal-conflict-lease',
  'journal-pipelined',
  'journal-in-doubt-resolved',
  'journal-in-doubt-rejected',
  'journal-in-doubt-unwritten',
  'journal-pipelined-dropped-failed',
  'journal-pipelined-dropped-head',
  'journal-pipelined-dropped-lease',
  'journal-pipelined-dropped-unknown',
  'journal-retries-exhausted',
  'journal-group-dropped',
  'journal-queue-rejected',
  'journal-read-gone',
  'lease-lost',
  'lease-seized',
  'lease-taken',
  'liveness-own-absence',
  'mass-silence-held',
];

/** The guards for the world with instances. */
export const INSTANCE_MARKS: readonly string[] = [
  'action-aborted-operation-cancelled',
  'address-reassigned',
  'agent-too-old-for-task',
  'back-end-order-retried',
  'bind-mapping-gone',
  'build-ended-by-delete',
  'build-rescheduled',
  'build-releases-non-inline-ports',
  'build-sweeps-its-host',
  'build-waits-for-a-silent-host',
  'delete-waits-for-silent-host',
  'delete-waits-for-work',
  'gate-bind-closed',
  'gate-closed-without-credentials',
  'gate-create-closed',
  'host-excluded-until-swept',
  'host-to-be-swept',
  'instance-replugged',
  'kept-without-host',
  'move-arrives-disconnected',
  'move-rescheduled',
  'move-superseded',
  'move-source-lost',
  'move-target-lost',
  'move-unbinds-its-target',
  'network-event-stale',
  'network-event-repeated',
  'network-order-stale',
  'network-order-unanswered',
  'network-order-without-credentials',
  'only-copy-held',
  'pool-excluded',
  'rebuild-found-no-place',
  'task-already-done',
  'together-too-few',
  'instance-ended-by-itself',
  'instance-started-again',
];

/** The guards for the world whose hosts leave and join. */
export const SCALE_IN_MARKS: readonly string[] = [
  'agent-detects-drift',
  'gateway-removed-host',
  'drain-waits-for-a-dead-host',
  'drain-waits-for-others',
  'drain-waits-for-what-it-moved',
  'elected-by-majority',
  'forced-out-while-disconnected',
  'handover-another-target',
  'handover-abandoned',
  'handover-host-stays',
  'handover-service-gone',
  'handover-superseded',
  'handover-target-bfd-down',
  'handover-without-connections',
  'held-copy-kept',
  'host-degraded',
  'host-degraded-no-more',
  'instance-abandoned',
  'nothing-to-be-cleaned-any-more',
  'peers-to-be-cleaned-later',
  'plan-changed',
  'readmitted-host-to-be-cleaned',
  'rebuild-backoff',
  'recover-waits-for-handovers',
  'removed-host-reports',
  'scale-in-fails-back',
  'service-withdrawn',
  'strays-found-at-the-end',
  'strays-recorded',
  'leave-reverted',
  'bfd-down-without-candidate',
  'operator-fenced-host-connected',
  'operator-fenced-while-connected',
];

/** The guards for the world with gray failures. */
export const GRAY_MARKS: readonly string[] = ['handover-host-stays', 'host-degraded', 'recover-waits-for-handovers'];

/** The guards for the world whose clocks jump. */
export const CLOCK_MARKS: readonly string[] = ['retention-paused'];

/** The guards for the world with bare metal. */
export const BAREMETAL_MARKS: readonly string[] = [
  'baremetal-build-reassigned',
  'baremetal-delete-waits-for-work',
  'baremetal-overdue-without-node',
  'baremetal-try-failed',
  'claim-given-back',
  'claim-settled-without-node',
  'claim-unanswered',
  'claim-under-older-epoch',
  'manager-drained',
  'manager-fenced-lease-over',
  'manager-fenced-node-leaving',
  'manager-fenced-older-epoch',
  'manager-fenced-other-instance',
  'manager-fenced-other-manager',
  'manager-fenced-registered-again',
  'manager-fenced-task-over',
  'manager-fenced-tenure-over',
  'manager-kept-by-young-server',
  'manager-late-to-act',
  'manager-name-taken',
  'manager-renews-too-late',
  'node-taken-back',
  'node-taken-over',
];

/** The guards for the world with Kubernetes. */
export const KUBERNETES_MARKS: readonly string[] = [
  'drain-ends-host-stays',
  'drain-ends-uncordoned',
  'drain-ends-with-another',
  'eviction-refused-by-budget',
  'node-replaced',
  'worker-cut-off-by-force',
  'worker-rejoins',
  'worker-superseded',
];

/** Guards that this world cannot reach, and where they are tested instead. */
export const MARKS_ELSEWHERE: Readonly<Record<string, string>> = {
  'agent-rejects-redirect': 'needs a forged answer: test/attacks/agent-link.test.ts',
  'journal-conflict-resource': 'needs a store that differs from its own journal: src/journal/journal.test.ts',
  'journal-pipelined-dropped-resource': 'the same, with a group behind it: src/journal/pipeline.test.ts',
  'journal-read-diverged': 'needs a standby that lags and is promoted: src/journal/journal.test.ts, test/postgres',
  'conntrack-not-deposited':
    'seldom: whoever brings connections is mostly faster. src/agent/node/switch/conntrack-sync.test.ts',
  'move-arrives-unplugged':
    'needs a back end that refuses to plug after the switch-over: src/instances/degraded/degraded.test.ts',
  'manager-fenced-node-gone': 'seldom: a call for a node that was removed since. src/baremetal/managers/right.test.ts',
  'manager-fenced-not-registered':
    'seldom: a manager that is forgotten while a call of it is on its way. src/baremetal/managers/right.test.ts',
  'cluster-errs-too-often': 'seldom: three errors of a server in a row. src/kubernetes/drain/drain.test.ts',
  'removal-cancelled-without-node':
    'seldom: a cancel between the deletion of a Node and its answer. src/kubernetes/drain/cancelled-removal.test.ts',
  'plan-begun-anew': 'needs a request over HTTP: src/hosts/preview/plan-slices.test.ts',
  'start-leaves-services-to-drains': 'needs a request over HTTP: src/hosts/scale-in/prepare.test.ts',
  'start-planned-anew': 'needs a request over HTTP: src/hosts/scale-in/prepare.test.ts',
  'data-path-lost': 'seldom: peers mostly miss such a host by majority first. src/election/out-of-control.test.ts',
  'conntrack-deposit-truncated':
    'needs tens of thousands of connections: src/agent/server/conntrack-relay.test.ts, src/agent/node/switch/conntrack-sync.test.ts',
  'drained-host-drains-again': 'nothing is placed on a host that leaves: src/hosts/scale-in/drain.test.ts',
  'failover-to-the-old-host':
    'needs a target that dies in the seconds after a switch: src/election/handover/operation.test.ts',
  'handover-orphan': 'needs an operation that ends without a word: src/election/handover/operation.test.ts',
  'leave-timed-out':
    'needs an agent that is connected and answers nothing for minutes: src/hosts/scale-in/leave.test.ts',
  'something-came-while-it-left': 'nothing is placed on a host that leaves: src/hosts/scale-in/end.test.ts',
  'switch-identity-shared': 'needs a switch that was copied: src/agent/node/switch/switch.test.ts',
};
