// What a manager remembers over a restart: who it is, and its certificate. Nothing of its work: that is in the control plane.
import { Type, type Static } from 'typebox';
import { compileChecker } from '../../fleet/index.ts';
import {
  SealedFiles,
  STORED_CERTIFICATE,
  type CertificateStore,
  type StateDisk,
  type StoredCertificate,
} from '../../link/index.ts';
import type { Log } from '../../operations/index.ts';

const IDENTITY = Type.Object({
  current: Type.Optional(
    Type.Object({
      manager: Type.String(),
      token: Type.String(),
      secret: Type.String(),
      /** The id of the join token that it came of. */
      joinToken: Type.String(),
    }),
  ),
  /** A join that was begun: written before it is sent, so that it is repeated with the same secret. */
  pending: Type.Optional(Type.Object({ joinToken: Type.String(), secret: Type.String() })),
});
export type ManagerIdentity = Static<typeof IDENTITY>;

export type ManagerFile = 'identity' | 'certificate';

const FILES = {
  identity: { check: compileChecker(IDENTITY), without: 'join this manager again with a new join token' },
  certificate: { check: compileChecker(STORED_CERTIFICATE), without: 'another one is requested' },
} as const;

export class ManagerStateStore implements CertificateStore {
  readonly #files: SealedFiles<ManagerFile>;

  constructor(disk: StateDisk<ManagerFile>, log: Log) {
    this.#files = new SealedFiles<ManagerFile>({ disk, log, program: 'manager', files: FILES });
  }

  async readIdentity(): Promise<ManagerIdentity> {
    const [identity = {}] = await this.#files.readWithCopy<ManagerIdentity>('identity');
    return identity;
  }

  writeIdentity(identity: ManagerIdentity): Promise<void> {
    return this.#files.write('identity', identity, { keepsCopy: true });
  }

  readCertificates(): Promise<readonly StoredCertificate[]> {
    return this.#files.readWithCopy<StoredCertificate>('certificate');
  }

  writeCertificate(held: StoredCertificate): Promise<void> {
    return this.#files.write('certificate', held, { keepsCopy: true });
  }
}
