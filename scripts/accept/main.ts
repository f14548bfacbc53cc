import { ConvexHttpClient } from "convex/browser";
import { makeFunctionReference } from "convex/server";
import * as z from "zod";
import { command, Misuse } from "../command";
import { dim, green, red } from "../terminal";
import { conventionRows } from "./conventions";
import { readRows } from "./reads";
import { researchRows } from "./research";
import { outcomeOf, type Outcome, type Row } from "./row";
import { createService } from "./service";
import { spendingRows } from "./purchases";
import { toolRows } from "./tools";
import { walletRows } from "./wallets";

/**
 * `npm run accept -- URL`: checks the contract row by row against any deployment, as a client that has read nothing
 * else, and lists the rows that differ. It imports nothing of the service.
 */

const USAGE = `Usage: npm run accept -- URL [options]

Checks the published interface row by row against the deployment at URL, and says which rows differ. It moves no money
without --spend.

  --user ID        the userId that it uses (alice)
  --proxy FILE     the built stdio proxy (dist/proxy.js)
  --api URL        the deployment's function API, which needs --token
  --token JWT      the token of a signed-in user, to link a messenger account
  --spend          also buys a report, swaps and sends; needs --key and --rpc
  --key 0x…        the private key of a payer who has 4 USDC and some ether; or set ACCEPT_KEY in the environment
  --rpc URL        the RPC endpoint of the chain
  --json           prints the outcome of each row as JSON

Exit code 1 means that a row differs.`;

const codeShape = z.object({ code: z.string().min(1) });
const keyShape = z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]{64}$/)]);
const MARKS: Record<Outcome["outcome"], string> = { holds: green("✓"), differs: red("✗"), skipped: dim("–") };

const FLAGS = {
  user: { type: "string", default: "alice" },
  proxy: { type: "string", default: "dist/proxy.js" },
  api: { type: "string" },
  token: { type: "string" },
  spend: { type: "boolean", default: false },
  key: { type: "string" },
  rpc: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

await command({ usage: USAGE, flags: FLAGS, most: 1 }, async ({ values, positionals: [url] }) => {
  if (url === undefined || !URL.canParse(url)) throw new Misuse("Name one address of a deployment");
  const service = createService(url);
  const { user } = values;
  const rows: Row[] = [
    ...conventionRows(service),
    ...readRows(service, user),
    ...researchRows(service, user),
    ...walletRows(service, user, codeMaker(values)),
    ...toolRows(values.proxy, service.base, user),
    ...(values.spend ? spendingRows(service, user, ...payerOf(values)) : []),
  ];
  const outcomes: Outcome[] = [];
  for (const row of rows) {
    const outcome = await outcomeOf(row);
    outcomes.push(outcome);
    if (!values.json) console.log(lineOf(outcome));
  }
  const count = (which: Outcome["outcome"]) => outcomes.filter(({ outcome }) => outcome === which).length;
  if (values.json) console.log(JSON.stringify(outcomes, null, 2));
  else
    console.log(
      `\n${count("holds")} rows hold, ${count("differs")} differ, ${count("skipped")} were skipped`,
    );
  return count("differs") > 0 ? 1 : 0;
});

function lineOf({ row, outcome, why }: Outcome): string {
  return `${MARKS[outcome]} ${row}${why === null ? "" : `\n    ${why}`}`;
}

/** Makes link codes as the web application does for its signed-in user. */
function codeMaker({ api, token }: { api?: string; token?: string }): (() => Promise<string>) | null {
  if ((api === undefined) !== (token === undefined)) throw new Misuse("--api and --token go together");
  if (api === undefined || token === undefined) return null;
  const client = new ConvexHttpClient(api);
  client.setAuth(token);
  const signIn = makeFunctionReference<"mutation">("users/profile:signIn");
  const create = makeFunctionReference<"mutation">("messenger/linking:createCode");
  return async () => {
    await client.mutation(signIn, {});
    return codeShape.parse(await client.mutation(create, {})).code;
  };
}

function payerOf({
  key = process.env.ACCEPT_KEY,
  rpc,
}: {
  key?: string;
  rpc?: string;
}): [`0x${string}`, string] {
  const parsed = keyShape.safeParse(key);
  if (!parsed.success) throw new Misuse("--spend takes a private key with --key or ACCEPT_KEY");
  if (rpc === undefined || !URL.canParse(rpc))
    throw new Misuse("--spend takes the chain's address with --rpc");
  return [parsed.data, rpc];
}
