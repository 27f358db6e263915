// What Muster proves itself by at the machines of a cluster. It is kept sealed in the document of the cluster.
import { Type, type Static } from 'typebox';
import { compileChecker } from '../../../fleet/index.ts';
import { parseSealedText } from '../../sealed-text.ts';

const CLOSED = { additionalProperties: false };

export const SSH_KEY_LENGTH_MAX = 16_000;
const PASSWORD = Type.String({ minLength: 1, maxLength: 500 });

export const SSH_CREDENTIALS_SCHEMA = Type.Union([
  Type.Object(
    {
      kind: Type.Literal('key'),
      key: Type.String({ minLength: 1, maxLength: SSH_KEY_LENGTH_MAX }),
      passphrase: Type.Optional(PASSWORD),
    },
    CLOSED,
  ),
  Type.Object({ kind: Type.Literal('password'), password: PASSWORD }, CLOSED),
]);
export type SshCredentials = Static<typeof SSH_CREDENTIALS_SCHEMA>;

const problemsOf = compileChecker(SSH_CREDENTIALS_SCHEMA);

/** Undefined when the text is none of them: sealed by something else. */
export function parseSshCredentials(text: string): SshCredentials | undefined {
  return parseSealedText(text, problemsOf) as SshCredentials | undefined;
}
