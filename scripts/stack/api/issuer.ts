import type { UserIdentity } from "convex/server";
import { calculateJwkThumbprint, importJWK, jwtVerify, SignJWT } from "jose";
import * as z from "zod";
import { real } from "../../real";
import type { Keys } from "../keys";

const ISSUER = "http://127.0.0.1:3210";
const AUDIENCE = "local";

const payloadShape = z.looseObject({ sub: z.string().min(1), iss: z.string() });
const claimsShape = z.record(z.string(), z.json());

/** Signs in users of the local stack, like a deployment's identity provider. */
export type Issuer = {
  /** A JWT for this user, valid for 30 days. */
  issue: (subject: string) => Promise<string>;
  /** The user of a token; null unless it is a valid token of this issuer. */
  verify: (token: string) => Promise<UserIdentity | null>;
};

export async function createIssuer({ issuerKey }: Pick<Keys, "issuerKey">): Promise<Issuer> {
  const { d, ...publicJwk } = issuerKey;
  const [privateKey, publicKey, kid] = await Promise.all([
    importJWK({ ...publicJwk, d }, "ES256"),
    importJWK(publicJwk, "ES256"),
    calculateJwkThumbprint(publicJwk),
  ]);
  return {
    issue: (subject) =>
      new SignJWT()
        .setProtectedHeader({ alg: "ES256", typ: "JWT", kid })
        .setSubject(subject)
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setIssuedAt()
        .setExpirationTime("30 days")
        .sign(privateKey),
    verify: async (token) => {
      const verified = await jwtVerify(token, publicKey, {
        issuer: ISSUER,
        audience: AUDIENCE,
        algorithms: ["ES256"],
        currentDate: new real.Date(),
      }).catch(() => null);
      return verified === null ? null : identityOf(verified.payload);
    },
  };
}

export function bearerToken(authorization: string | undefined): string | null {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1] ?? null;
}

function identityOf(payload: unknown): UserIdentity {
  const { sub: subject, iss: issuer, aud: _, exp: __, iat: ___, ...claims } = payloadShape.parse(payload);
  return { ...claimsShape.parse(claims), subject, issuer, tokenIdentifier: `${issuer}|${subject}` };
}
