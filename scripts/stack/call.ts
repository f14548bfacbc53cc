import * as z from "zod";
import { command, Misuse } from "../command";
import { parseJson } from "../json";

/** `npm run call -- ops/doctor:ask`: runs a function of the local stack, as the CLI's `run` does at a deployment. */

const USAGE = `Usage: npm run --silent call -- FUNCTION ['{"argument":"value"}']

Runs a function of the running local stack, internal ones too, and prints its answer: what the documents run by
the CLI's run --prod can be tried here.

Environment: PROVIDERS_PORT (3299)`;

const answerShape = z.union([z.object({ value: z.json() }), z.object({ error: z.string() })]);
const PATIENCE_MS = 120_000;

await command({ usage: USAGE, flags: {}, most: 2 }, async ({ positionals: [path = "", written = "{}"] }) => {
  if (!path.includes(":")) throw new Misuse("Name one function, such as ops/doctor:ask");
  const args = parseJson(written);
  if (args === undefined) throw new Misuse("The arguments must be a JSON object");
  const url = `http://127.0.0.1:${process.env.PROVIDERS_PORT || "3299"}`;
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const order = { method: "POST", body: JSON.stringify({ path, args }), signal };
  const answer = await fetch(`${url}/_call`, order).catch(() => null);
  const { data } = answerShape.safeParse(parseJson((await answer?.text()) ?? ""));
  if (data !== undefined && "value" in data) {
    console.log(JSON.stringify(data.value, null, 2));
    return 0;
  }
  console.error(
    data?.error ??
      `No local stack answers at ${url}: start it with npm start, or set PROVIDERS_PORT to its port.`,
  );
  return 1;
});
