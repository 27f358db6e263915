// What an agent remembers over a restart: who it is, its last view, its answers. Files have a checksum, and those that the server
// cannot give again have a copy. A damaged file is reported as a problem until the program ends, and never read as a whole one.
import { Type, type Static } from 'typebox';
import { compileChecker } from '../../../fleet/index.ts';
import type { Log, TaskAnswer } from '../../../operations/index.ts';
import { TRUST } from '../trust.ts';
import { SealedFiles, STORED_CERTIFICATE, type StoredCertificate } from '../../../link/index.ts';
import { VIEW, type View } from '../../protocol/messages.ts';
import type { Disk, FileName, RuntimeFileName } from '../ports.ts';

/** The agent's own files. What runs on a simulated machine is the machine's to remember. */
type OwnFile = Exclude<FileName, RuntimeFileName | 'switch'>;

const MEMBERSHIP_STATE = Type.Object({
  /** The credential that is in use. */
  current: Type.Optional(
    Type.Object({
      host: Type.String(),
      token: Type.String(),
      secret: Type.String(),
      /** The id of the join token that it came of. */
      joinToken: Type.String(),
      /** The keys and servers of the control plane; absent after a join with an older server. */
      trust: Type.Optional(TRUST),
    }),
  ),
  /** A join that was begun: written before it is sent, so that it is repeated with the same secret. */
  pending: Type.Optional(Type.Object({ joinToken: Type.String(), secret: Type.String() })),
  /** The task by which it was ordered to leave, once the machine is wiped. */
  leaving: Type.Optional(Type.String()),
  /** It has left: it says nothing more until it is joined again. */
  left: Type.Optional(Type.Literal(true)),
});

const STORED_VIEW = Type.Object({
  /** The credential under which it was taken: another one may belong to another journal. */
  token: Type.String(),
  view: VIEW,
});

const ANSWER_LIST = Type.Array(
  Type.Object({
    task: Type.String(),
    outcome: Type.Enum(['done', 'failed']),
    problems: Type.Optional(Type.Array(Type.String())),
    facts: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
);
/** Agents of older versions wrote the list alone. */
const ANSWERS = Type.Union([ANSWER_LIST, Type.Object({ answers: ANSWER_LIST })]);

export type MembershipState = Static<typeof MEMBERSHIP_STATE>;

export interface StoredView {
  readonly token: string;
  readonly view: View;
}

export interface ReadIdentity {
  readonly identity: MembershipState;
  /** It is of the copy: whether that is the last version is not known. */
  readonly isRestored: boolean;
}

const FILES = {
  identity: { check: compileChecker(MEMBERSHIP_STATE), without: 'join this host again with a new join token' },
  view: {
    check: compileChecker(STORED_VIEW),
    without: 'it is requested again, and until then nothing is changed on this machine',
  },
  answers: { check: compileChecker(ANSWERS), without: 'tasks are done again, and find their work done' },
  certificate: { check: compileChecker(STORED_CERTIFICATE), without: 'another one is requested' },
} as const;

export class AgentStateStore {
  readonly #files: SealedFiles<OwnFile>;

  constructor(disk: Disk, log: Log) {
    this.#files = new SealedFiles<OwnFile>({ disk, log, program: 'agent', files: FILES });
  }

  /** The files that were damaged when they were read. */
  get problems(): readonly string[] {
    return this.#files.problems;
  }

  async readIdentity(): Promise<ReadIdentity> {
    const current = await this.#files.read<MembershipState>('identity');
    if (current.kind === 'whole') return { identity: current.value, isRestored: false };
    const copy = await this.#files.readCopy<MembershipState>('identity');
    const toDo = 'its copy is used, and nothing is changed on this machine until a server confirms it';
    this.#files.reportLoss('identity', current, copy === undefined ? undefined : toDo);
    return { identity: copy ?? {}, isRestored: copy !== undefined };
  }

  async readView(): Promise<StoredView | undefined> {
    const read = await this.#files.read<StoredView>('view');
    this.#files.reportLoss('view', read);
    return read.kind === 'whole' ? read.value : undefined;
  }

  async readAnswers(): Promise<readonly TaskAnswer[]> {
    const read = await this.#files.read<Static<typeof ANSWERS>>('answers');
    this.#files.reportLoss('answers', read);
    if (read.kind !== 'whole') return [];
    return 'answers' in read.value ? read.value.answers : read.value;
  }

  /** The last one, and its copy: even an old one is good to request another. */
  readCertificates(): Promise<readonly StoredCertificate[]> {
    return this.#files.readWithCopy<StoredCertificate>('certificate');
  }

  writeIdentity(identity: MembershipState): Promise<void> {
    return this.#files.write('identity', identity, { keepsCopy: true });
  }

  writeView(taken: StoredView): Promise<void> {
    return this.#files.write('view', taken);
  }

  writeCertificate(held: StoredCertificate): Promise<void> {
    return this.#files.write('certificate', held, { keepsCopy: true });
  }

  writeAnswers(answers: readonly TaskAnswer[]): Promise<void> {
    return this.#files.write('answers', { answers });
  }
}
