import { existsSync } from "node:fs";
import path from "node:path";
import { command, Misuse } from "../command";
import { stateDirectory } from "./env";
import { createIssuer } from "./api";
import { KeysError, keptKeys } from "./keys";
import { tokenOf } from "./inquiries";

/** `npm run token -- alice`: prints a JWT for that user of the local stack, and nothing else. */

const USAGE = `Usage: npm run --silent token -- USER [--json]

Prints a token of a user of the local stack, which is valid for 30 days. It asks the running stack, or else uses the keys
that a stack has kept. It makes no keys itself.

  --json   prints the token with its user, as JSON

Environment: PROVIDERS_PORT (3299), LOCAL_STATE_DIR (.local)`;

const about = {
  usage: USAGE,
  flags: { json: { type: "boolean", default: false } },
  most: 1,
  forOperator: [KeysError],
} as const;
await command(about, async ({ values: { json }, positionals: [subject = ""] }) => {
  if (subject === "") throw new Misuse("Name one user");
  const url = `http://127.0.0.1:${process.env.PROVIDERS_PORT || "3299"}`;
  const token = (await tokenOf(url, subject)) ?? (await tokenOfKept(subject));
  if (token === null) {
    console.error(
      `No local stack answers at ${url}: start it with npm start, or set PROVIDERS_PORT to its port.`,
    );
    return 1;
  }
  console.log(json ? JSON.stringify({ user: subject, token }) : token);
  return 0;
});

/** A restarted stack keeps its keys, so a token of the stored keys works there. */
async function tokenOfKept(subject: string): Promise<string | null> {
  const directory = stateDirectory(process.env);
  if (!existsSync(path.join(directory, "keys.json"))) return null;
  return (await createIssuer(await keptKeys(directory))).issue(subject);
}
