// Signed statements of a control plane, and how an agent reads them. A statement names the journal, the host and the credential that it is
// about: one for an earlier incarnation of a host must never be valid for a later one.
import { Type, type Static } from 'typebox';
import { compileChecker } from '../../fleet/index.ts';
import {
  PUBLIC_KEY,
  tryParseJson,
  type PublicKey,
  type SignedText,
  type Signer,
  type Verify,
} from '../../link/index.ts';

/** Where the servers answer and which keys they sign with. `serial` grows with every rotation. */
const CONTROL_PLANE = Type.Object({
  kind: Type.Literal('control-plane'),
  journalId: Type.String(),
  serial: Type.Integer(),
  keys: Type.Array(PUBLIC_KEY),
  servers: Type.Array(Type.String()),
  succeeds: Type.Optional(
    Type.Array(Type.String(), { description: 'journals of which backups were restored into this one' }),
  ),
});

/** Which server holds the lease. */
const HOLDER = Type.Object({
  kind: Type.Literal('holder'),
  journalId: Type.String(),
  url: Type.String(),
  leaseEpoch: Type.Integer(),
});

/** A credential is refused. It stays refused: a host that joins again gets another one. */
const REFUSAL = Type.Object({
  kind: Type.Literal('refusal'),
  journalId: Type.String(),
  host: Type.String(),
  token: Type.String(),
  code: Type.String(),
});

/** A composed view. The digest covers the host, the parts and the tasks. */
const VIEW_COMPOSED = Type.Object({
  kind: Type.Literal('view'),
  journalId: Type.String(),
  host: Type.String(),
  token: Type.String(),
  leaseEpoch: Type.Integer(),
  revision: Type.Integer(),
  digest: Type.String(),
});

/** From one server to the one that decides: which certificate came with a credential. */
const PEER = Type.Object({
  kind: Type.Literal('peer'),
  journalId: Type.String(),
  leaseEpoch: Type.Integer(),
  credential: Type.String({ description: 'SHA-256 of it' }),
  certificate: Type.String({ description: 'DER, as base64' }),
});

const STATEMENT = Type.Union([CONTROL_PLANE, HOLDER, REFUSAL, VIEW_COMPOSED, PEER]);
export type Statement = Static<typeof STATEMENT>;
export type ControlPlaneStatement = Static<typeof CONTROL_PLANE>;

const checkStatement = compileChecker(STATEMENT);

export function signStatement(signer: Signer, statement: Statement): SignedText {
  return signer.sign(JSON.stringify(statement));
}

/** The statement, when one of these keys has signed it; undefined otherwise. */
export function verifyStatement(
  signed: SignedText | undefined,
  { keys, verify }: { readonly keys: readonly PublicKey[]; readonly verify: Verify },
): Statement | undefined {
  if (signed === undefined) return undefined;
  const { text, signatures } = signed;
  const isGood = signatures.some(({ key, signature }) => {
    const known = keys.find(({ id }) => id === key);
    return known !== undefined && verify({ publicKey: known.publicKey, text, signature });
  });
  return isGood ? parseStatement(text) : undefined;
}

/** The statement, whoever signed it. Only for links that are authenticated by themselves, and for a first join. */
export function parseStatement(text: string): Statement | undefined {
  const value = tryParseJson(text);
  return checkStatement(value).length === 0 ? (value as Statement) : undefined;
}
