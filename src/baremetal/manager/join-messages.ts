// What a manager that joins sends, and what it gets.
import { Type, type Static } from 'typebox';
import { JOIN_SECRET, strictObject } from '../../access/index.ts';
import { CERTIFICATE_REQUEST, ISSUED_CERTIFICATE } from '../../link/index.ts';

/** The manager makes its secret and writes it down first: repeated after a lost answer it gets the same answer, and no secret is ever in one. */
export const JOIN_REQUEST = strictObject({
  secret: JOIN_SECRET,
  certificateRequest: Type.Optional(CERTIFICATE_REQUEST),
});
export type ManagerJoinRequest = Static<typeof JOIN_REQUEST>;

/** The id of its token makes its credential, with the secret. */
export const JOIN_RESPONSE = Type.Object({
  manager: Type.String(),
  token: Type.String(),
  certificate: Type.Optional(ISSUED_CERTIFICATE),
});
export type ManagerJoinResponse = Static<typeof JOIN_RESPONSE>;
