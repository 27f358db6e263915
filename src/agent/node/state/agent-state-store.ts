// What an agent remembers over a restart: who it is, its last view, its answers. A file that cannot be read back is
// treated as absent and said loudly: the server can give all of it again, but for a join token a person is needed.
import { Type, type Static, type TSchema } from 'typebox';
import { compileChecker } from '../../../fleet/index.ts';
import type { Log, TaskAnswer } from '../../../operations/index.ts';
import { TRUST } from '../trust.ts';
import { tryParseJson } from '../../../link/index.ts';
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
  /** The task by which it was told to leave, once the machine is wiped. */
  leaving: Type.Optional(Type.String()),
  /** It has left: it says nothing more until it is joined again. */
  left: Type.Optional(Type.Literal(true)),
});

/** Key and certificate in one file: after a crash they still belong together. */
const CERTIFICATE = Type.Object({
  /** The credential that it was issued to. */
  token: Type.String(),
  key: Type.String(),
  certificate: Type.String(),
  /** Of the control plane's keys that it was issued with. */
  serial: Type.Integer(),
  /** By the agent's own clock. */
  receivedAtMs: Type.Integer(),
});
export type StoredCertificate = Static<typeof CERTIFICATE>;

const STORED_VIEW = Type.Object({
  /** The credential under which it was taken: another one may belong to another journal. */
  token: Type.String(),
  view: VIEW,
});

const ANSWERS = Type.Array(
  Type.Object({
    task: Type.String(),
    outcome: Type.Enum(['done', 'failed']),
    problems: Type.Optional(Type.Array(Type.String())),
    facts: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
);

export type MembershipState = Static<typeof MEMBERSHIP_STATE>;

export interface StoredView {
  readonly token: string;
  readonly view: View;
}

const CHECKS = {
  identity: compileChecker(MEMBERSHIP_STATE),
  view: compileChecker(STORED_VIEW),
  answers: compileChecker(ANSWERS),
  certificate: compileChecker(CERTIFICATE),
} satisfies Record<OwnFile, ReturnType<typeof compileChecker>>;

export class AgentStateStore {
  readonly #disk: Disk;
  readonly #log: Log;

  constructor(disk: Disk, log: Log) {
    this.#disk = disk;
    this.#log = log;
  }

  async readIdentity(): Promise<MembershipState> {
    return (await this.#read<typeof MEMBERSHIP_STATE>('identity')) ?? {};
  }

  async readView(): Promise<StoredView | undefined> {
    return this.#read<typeof STORED_VIEW>('view');
  }

  async readAnswers(): Promise<readonly TaskAnswer[]> {
    return (await this.#read<typeof ANSWERS>('answers')) ?? [];
  }

  async readCertificate(): Promise<StoredCertificate | undefined> {
    return this.#read<typeof CERTIFICATE>('certificate');
  }

  writeIdentity(identity: MembershipState): Promise<void> {
    return this.#disk.write('identity', JSON.stringify(identity));
  }

  writeView(taken: StoredView): Promise<void> {
    return this.#disk.write('view', JSON.stringify(taken));
  }

  writeCertificate(held: StoredCertificate): Promise<void> {
    return this.#disk.write('certificate', JSON.stringify(held));
  }

  writeAnswers(answers: readonly TaskAnswer[]): Promise<void> {
    return this.#disk.write('answers', JSON.stringify(answers));
  }

  async #read<S extends TSchema>(name: OwnFile): Promise<Static<S> | undefined> {
    const text = await this.#disk.read(name);
    if (text === undefined) return undefined;
    const value = tryParseJson(text);
    const problems = CHECKS[name](value);
    if (problems.length === 0) return value as Static<S>;
    this.#log.error({ file: name, problems }, 'a file of this agent cannot be read back and is ignored');
    return undefined;
  }
}
