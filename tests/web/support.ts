import type { App } from "../support/app";
import { assertDocumented } from "../support/document";
import { identityOf } from "../support/world";

/** The status of a request over HTTP, of anybody or of one signed-in person. */
export async function postedStatus(
  client: Pick<App["t"], "fetch">,
  path: string,
  body: unknown,
): Promise<number> {
  const response = await client.fetch(path, { method: "POST", body: JSON.stringify(body) });
  const { status, headers } = response;
  assertDocumented("POST", path, { status, headers, text: await response.text() });
  return status;
}

/** The application as one signed-in person's browser calls it. */
export function browserOf(app: Pick<App, "t">, subject: string) {
  return app.t.withIdentity(identityOf(subject));
}
