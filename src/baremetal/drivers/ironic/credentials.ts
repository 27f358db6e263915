// The credentials for an Ironic, from the text of the file that the operator names. Secrets must never be shown, logged, or quoted in an error about the
// file.
import { Type, type Static } from 'typebox';
import { Secret } from '../../../access/index.ts';
import { compileChecker } from '../../../fleet/index.ts';
import { parseSecretDocument } from '../../../network/index.ts';

const SHORT = { minLength: 1, maxLength: 500 };
/** Tokens of Keystone are a few hundred bytes, those of federations some thousands. */
const TOKEN = { minLength: 1, maxLength: 8000 };
const CLOSED = { additionalProperties: false };
/** Line breaks and the like would end the header that a secret is sent in. */
const PRINTABLE = '^[\\x21-\\x7e]*$';

const FILE = Type.Object(
  {
    basic: Type.Optional(Type.Object({ user: Type.String(SHORT), password: Type.String(SHORT) }, CLOSED)),
    token: Type.Optional(Type.String({ ...TOKEN, pattern: PRINTABLE, 'x-form': 'a token without spaces' })),
    /** The network to Ironic is trusted: the secret may cross it in clear text. */
    allowPlainHttp: Type.Optional(Type.Boolean()),
  },
  CLOSED,
);

const problemsOf = compileChecker(FILE);

export interface IronicCredentials {
  /** The headers that authenticate a request. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly allowsPlainHttp: boolean;
  /** The password or the token in them. */
  readonly secret: Secret;
}

const EXAMPLE = '"basic: { user: …, password: … }" or "token: …"';

export function parseIronicCredentials(
  text: string,
): { readonly credentials: IronicCredentials } | { readonly problems: readonly string[] } {
  const document = parseSecretDocument(text);
  if (document.problems !== undefined) return { problems: document.problems };
  const { content } = document;
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return { problems: [`the file must say ${EXAMPLE}`] };
  const problems = problemsOf(content).map(({ field, message }) => `${field}: ${message}`);
  if (problems.length > 0) return { problems };
  const { basic, token, allowPlainHttp = false } = content as Static<typeof FILE>;
  if ((basic === undefined) === (token === undefined)) return { problems: [`the file must say one of ${EXAMPLE}`] };
  if (basic?.user.includes(':') === true) return { problems: ['/basic/user: must not contain a colon'] };
  const header = new Secret(basic === undefined ? (token ?? '') : composeBasic(basic));
  const secret = new Secret(basic?.password ?? token ?? '');
  const name = basic === undefined ? 'x-auth-token' : 'authorization';
  return { credentials: { headers: () => ({ [name]: header.reveal() }), allowsPlainHttp: allowPlainHttp, secret } };
}

function composeBasic({ user, password }: { readonly user: string; readonly password: string }): string {
  return `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`;
}
