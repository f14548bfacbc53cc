import type { App } from "./app";
import { identityOf } from "./world";

/** The application as one signed-in person's browser calls it. */
export function browserOf(app: Pick<App, "t">, subject: string) {
  return app.t.withIdentity(identityOf(subject));
}
