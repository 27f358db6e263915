// What an agent remembers over a restart: who it is, its last view, its answers. Files have a checksum, and those that the server
// cannot give again have a copy. A damaged file is reported as a problem until the program ends, and never read as a whole one.
import { Type, type Static } from 'typebox';
import { compileChecker } from '../../../fleet/index.ts';
import type { Log, TaskAnswer } from '../../../operations/index.ts';
import { TRUST } from '../trust.ts';
import { tryParseJson } from '../../../link/index.ts';
import { VIEW, type View } from '../../protocol/messages.ts';
import { DiskFailed, type Disk, type FileName, type RuntimeFileName } from '../ports.ts';
import { sealJson, unsealJson } from './sealed-json.ts';

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

const CHECKS = {
  identity: compileChecker(MEMBERSHIP_STATE),
  view: compileChecker(STORED_VIEW),
  answers: compileChecker(ANSWERS),
  certificate: compileChecker(CERTIFICATE),
} satisfies Record<OwnFile, ReturnType<typeof compileChecker>>;

export interface ReadIdentity {
  readonly identity: MembershipState;
  /** It is of the copy: whether that is the last version is not known. */
  readonly isRestored: boolean;
}

type ReadFile<T> =
  | { readonly kind: 'whole'; readonly value: T }
  | { readonly kind: 'missing' }
  | { readonly kind: 'damaged'; readonly because: string };

/** What becomes of the agent without each file. */
const WITHOUT: Readonly<Record<OwnFile, string>> = {
  identity: 'join this host again with a new join token',
  view: 'it is requested again, and until then nothing is changed on this machine',
  answers: 'tasks are done again, and find their work done',
  certificate: 'another one is requested',
};

export class AgentStateStore {
  readonly #disk: Disk;
  readonly #log: Log;
  readonly #problems: string[] = [];

  constructor(disk: Disk, log: Log) {
    this.#disk = disk;
    this.#log = log;
  }

  /** The files that were damaged when they were read. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  async readIdentity(): Promise<ReadIdentity> {
    const current = await this.#read<MembershipState>('identity');
    if (current.kind === 'whole') return { identity: current.value, isRestored: false };
    const copy = await this.#readCopy<MembershipState>('identity');
    const toDo = 'its copy is used, and nothing is changed on this machine until a server confirms it';
    this.#reportLoss('identity', current, copy === undefined ? undefined : toDo);
    return { identity: copy ?? {}, isRestored: copy !== undefined };
  }

  async readView(): Promise<StoredView | undefined> {
    const read = await this.#read<StoredView>('view');
    this.#reportLoss('view', read);
    return read.kind === 'whole' ? read.value : undefined;
  }

  async readAnswers(): Promise<readonly TaskAnswer[]> {
    const read = await this.#read<Static<typeof ANSWERS>>('answers');
    this.#reportLoss('answers', read);
    if (read.kind !== 'whole') return [];
    return 'answers' in read.value ? read.value.answers : read.value;
  }

  /** The last one, and its copy where it may be of use: even an old one is good to request another. */
  async readCertificates(): Promise<readonly StoredCertificate[]> {
    const current = await this.#read<StoredCertificate>('certificate');
    const copy = await this.#readCopy<StoredCertificate>('certificate');
    if (current.kind !== 'whole')
      this.#reportLoss('certificate', current, copy === undefined ? undefined : 'its copy is used');
    return [current.kind === 'whole' ? current.value : undefined, copy].filter((one) => one !== undefined);
  }

  writeIdentity(identity: MembershipState): Promise<void> {
    return this.#disk.write('identity', sealJson(identity), { keepsCopy: true });
  }

  writeView(taken: StoredView): Promise<void> {
    return this.#disk.write('view', sealJson(taken));
  }

  writeCertificate(held: StoredCertificate): Promise<void> {
    return this.#disk.write('certificate', sealJson(held), { keepsCopy: true });
  }

  writeAnswers(answers: readonly TaskAnswer[]): Promise<void> {
    return this.#disk.write('answers', sealJson({ answers }));
  }

  async #read<T>(name: OwnFile): Promise<ReadFile<T>> {
    try {
      return parse<T>(name, await this.#disk.read(name));
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      return { kind: 'damaged', because: error.message };
    }
  }

  async #readCopy<T>(name: OwnFile): Promise<T | undefined> {
    try {
      const read = parse<T>(name, await this.#disk.readCopy?.(name));
      return read.kind === 'whole' ? read.value : undefined;
    } catch (error) {
      if (!(error instanceof DiskFailed)) throw error;
      return undefined;
    }
  }

  /** A file that is missing is a loss where there was one before. */
  #reportLoss(name: OwnFile, read: ReadFile<unknown>, toDo?: string): void {
    if (read.kind === 'whole' || (read.kind === 'missing' && toDo === undefined)) return;
    const because = read.kind === 'missing' ? 'is missing' : read.because;
    const problem = `agent-${name}.json ${because}: ${toDo ?? WITHOUT[name]}`;
    this.#problems.push(problem);
    this.#log.error({ file: name }, problem);
  }
}

function parse<T>(name: OwnFile, text: string | undefined): ReadFile<T> {
  if (text === undefined) return { kind: 'missing' };
  const body = unsealJson(text);
  if (body === undefined) return { kind: 'damaged', because: 'is damaged (its checksum is wrong)' };
  const [problem] = CHECKS[name](tryParseJson(body));
  if (problem !== undefined) return { kind: 'damaged', because: `is damaged (${problem.field} ${problem.message})` };
  return { kind: 'whole', value: tryParseJson(body) as T };
}
