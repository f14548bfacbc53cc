import type { App } from "../support/app";

const ISSUER = "https://issuer.test";

/** The application as one signed-in person's browser calls it. */
export function browserOf(app: Pick<App, "t">, subject: string) {
  return app.t.withIdentity({ subject, issuer: ISSUER, tokenIdentifier: `${ISSUER}|${subject}` });
}
