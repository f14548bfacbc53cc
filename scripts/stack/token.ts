import * as z from "zod";
import { command, Misuse } from "../command";
import { parseJson } from "../json";

/** `npm run token -- alice`: prints a JWT for that user of the local stack, and nothing else. */

const USAGE = `Usage: npm run --silent token -- USER

Prints a token of a user of the running local stack, which is valid for 30 days.

Environment: PROVIDERS_PORT (3299)`;

const tokenShape = z.object({ token: z.string() });
const PATIENCE_MS = 3_000;

await command({ usage: USAGE, flags: {}, most: 1 }, async ({ positionals: [subject = ""] }) => {
  if (subject === "") throw new Misuse("Name one user");
  const url = `http://127.0.0.1:${process.env.PROVIDERS_PORT || "3299"}`;
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const order = { method: "POST", body: JSON.stringify({ subject }), signal };
  const answer = await fetch(`${url}/_token`, order).catch(() => null);
  const { data } = tokenShape.safeParse(parseJson((await answer?.text()) ?? ""));
  if (data === undefined) {
    console.error(
      `No local stack answers at ${url}: start it with npm start, or set PROVIDERS_PORT to its port.`,
    );
    return 1;
  }
  console.log(data.token);
  return 0;
});
