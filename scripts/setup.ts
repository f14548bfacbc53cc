import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import { getErrorData } from "../convex/lib/errors";
import { readHead } from "../convex/providers/chain/blocks";
import { getBotUsername } from "../convex/providers/messenger";
import { complete } from "../convex/providers/models/gateway";
import { requestQuote } from "../convex/providers/swap";
import { toSwapAddress } from "../convex/wallets/tokens";
import { command, OperatorError } from "./command";
import {
  AT_PUSH,
  findComplaint,
  formatSettings,
  listProblems,
  getSettingsFile,
  parseSettings,
  listUnknownNames,
  type Settings,
} from "./settings";
import { bold, dim, green, red } from "./terminal";

/**
 * `npm run setup`: asks for the keys of the providers and the bot, tests each as it is typed, generates the secrets,
 * and writes `.env.local`. `-- --check` only checks the existing file.
 */

const FILE = getSettingsFile();
const USAGE = `Usage: npm run setup [-- --check]

Asks for the providers' keys and the bot, tries each, makes the secrets, and writes ${FILE}.
  --check   asks nothing: says what is wrong with ${FILE}

Environment: LOCAL_ENV_FILE (.env.local)`;

type Asked = {
  name: string;
  vendor: string;
  /** Where to get a key, its free allowance, and the cost of a day at the default budget. */
  about: string;
  /** The features that do not work without it. */
  without: string;
  /** Tests the value; the returned sentence is the result. @throws OperatorError or AppError with the reason. */
  works: (value: string) => Promise<string>;
};

const TAKER = "0x000000000000000000000000000000000000dEaD";

const ASKED: readonly Asked[] = [
  {
    name: "LLM_GATEWAY_API_KEY",
    vendor: "Bankr LLM gateway, or any OpenAI-compatible one (LLM_ENDPOINT)",
    about:
      "https://bankr.bot/llm · no free tier, credits from 1 USD · a day: up to DAILY_BUDGET_USD, usually 2 to 5 USD",
    without: "market data, chat, research, signals and whale alerts answer 500",
    works: async () => {
      const messages = [{ role: "user" as const, content: "Say yes." }];
      const { model } = await complete(null, {
        messages,
        maxTokens: 200,
        timeoutMs: 30_000,
        attempts: 1,
        billTo: "service",
      });
      return `answers as ${model}`;
    },
  },
  {
    name: "SENTIMENT_API_KEY",
    vendor: "xAI",
    about: "https://console.x.ai · no free tier · about 0.1 USD a search, 16 searches a shift",
    without: "the start of a shift answers 500; other research has no sentiment",
    works: async (key) => {
      const base = process.env.SENTIMENT_ENDPOINT || "https://api.x.ai/v1";
      const headers = { Authorization: `Bearer ${key}` };
      const { status } = await fetch(`${base}/models`, { headers, signal: AbortSignal.timeout(15_000) });
      if (status >= 400 && status !== 404)
        throw new OperatorError(`it answers ${status}: it does not know this key`);
      return "knows the key; the doctor tries a search (`npx convex run --prod ops/doctor:ask`)";
    },
  },
  {
    name: "SWAP_API_KEY",
    vendor: "0x",
    about: "https://dashboard.0x.org · free tier, 5 requests a second · a day: nothing",
    without: "swaps answer 500",
    works: async () => {
      const tokens = { sellToken: toSwapAddress("USDC"), buyToken: toSwapAddress("WETH") };
      await requestQuote({ ...tokens, sellAmount: 1_000_000n, taker: TAKER, slippageBps: 100 });
      return "quotes 1 USDC";
    },
  },
  {
    name: "CHAIN_RPC_URL",
    vendor: "a node of Base, of any vendor",
    about:
      "https://docs.base.org/chain/node-providers · most have a free tier · without one: the public node, which limits",
    without: "the public node of Base is asked, which refuses many requests",
    works: async () => `is at block ${(await readHead()).number}`,
  },
  {
    name: "MESSENGER_BOT_TOKEN",
    vendor: "Telegram",
    about: "https://t.me/BotFather · free",
    without: "only users' own bots send cards, and there is no bot to talk with",
    works: async (token) => {
      const bot = await getBotUsername(token);
      if (bot === null) throw new OperatorError("the messenger does not know this token");
      return `is @${bot}`;
    },
  },
  {
    name: "PAPER",
    vendor: "a deployment to try out: on or off",
    about: "on: everybody orders on paper, with live quotes and fees, and nothing real moves",
    without: "orders move real money, but for accounts whose owner has put them on paper",
    works: (value) => Promise.resolve(/^on$/i.test(value) ? "everybody is on paper" : "accounts are live"),
  },
];

/** Generated once, and kept. */
const MADE = ["WALLET_ENCRYPTION_KEY", "MESSENGER_WEBHOOK_SECRET", "MESSENGER_CONNECT_SECRET"];

const about = { usage: USAGE, flags: { check: { type: "boolean", default: false } } } as const;
await command(about, async ({ values: { check } }) => {
  const text = await readFile(FILE, "utf8").catch(() => null);
  if (!check) return askValue(text ?? "");
  if (text === null) throw new OperatorError(`There is no ${FILE}: npm run setup makes it.`);
  return checkValue(parseSettings(text));
});

function checkValue(settings: Settings): number {
  const bad = listProblems(settings, false);
  for (const { name, says } of [...bad, ...listUnknownNames(settings)]) console.log(`${bold(name)} ${says}`);
  tellMissing(settings);
  return bad.length === 0 ? 0 : 1;
}

async function askValue(text: string): Promise<number> {
  const settings = parseSettings(text);
  const added: Record<string, string> = {};
  const input = createInterface({ input: process.stdin, output: process.stdout });
  const lines = input[Symbol.asyncIterator]();
  for (const one of ASKED) {
    console.log(`\n${bold(one.name)}  ${one.vendor}\n${dim(one.about)}`);
    const value = await askUntilItWorks(one, settings[one.name] ?? "", async (prompt) => {
      process.stdout.write(prompt);
      const next = await lines.next();
      // Ctrl-C, or the end of the input.
      if (next.done === true)
        throw new OperatorError(`\nEnded before the last question: ${FILE} is as it was.`);
      return next.value.trim();
    });
    if (value !== "" && value !== settings[one.name]) added[one.name] = value;
  }
  input.close();
  for (const name of MADE) if (!settings[name]) added[name] = randomBytes(32).toString("hex");
  for (const [name, value] of Object.entries(AT_PUSH)) if (!settings[name]) added[name] = value;
  await writeFile(FILE, withValues(text, added), { mode: 0o600 });
  console.log(
    `\n${green("✓")} ${FILE} is written. Keep a copy of WALLET_ENCRYPTION_KEY: without it wallets are lost.`,
  );
  const all = { ...settings, ...added };
  const code = checkValue(all);
  console.log(`
Next (for a development deployment: all without --prod, and npx convex dev --once in place of deploy):
  npx convex init                                               logs in, and makes the project
  npx convex env set --prod --force --from-file ${FILE}    sets the variables
  npx convex deploy                                             pushes functions, schema and crons${
    all.MESSENGER_BOT_TOKEN
      ? "\n  npx convex run --prod bot/service:register               leads the bot's messages to it"
      : ""
  }
  npx convex run --prod ops/doctor:ask                          says what is wrong, and what to do`);
  return code;
}

/** A value that works, or that the operator insists on; "" for none. */
async function askUntilItWorks(
  { name, works }: Asked,
  kept: string,
  read: (prompt: string) => Promise<string>,
): Promise<string> {
  for (let last: string | null = null; ;) {
    const prompt =
      last === null ? (kept === "" ? "Enter for none" : "Enter keeps yours") : "Enter takes it all the same";
    const given = await read(`${prompt}: `);
    if (given === "") return last ?? kept;
    const complaint = findComplaint(name, given);
    if (complaint !== null) {
      console.log(red(`${name} ${complaint}`));
      continue;
    }
    process.env[name] = given;
    try {
      console.log(`${green("✓")} ${await works(given)}`);
      return given;
    } catch (error) {
      console.log(red(explain(error)));
      last = given;
    }
  }
}

function explain(error: unknown): string {
  const isOperators = error instanceof OperatorError;
  const said = isOperators ? error.message : getErrorData(error)?.message;
  return said ?? "it was not reached: check the network, and the address if it is yours";
}

/** The file with these values in place of its own lines for their names. */
function withValues(text: string, values: Settings): string {
  const kept = text.split("\n").filter((line) => !Object.hasOwn(values, line.split("=")[0]?.trim() ?? ""));
  const end = kept.join("\n").trimEnd();
  return `${end === "" ? "" : `${end}\n`}${formatSettings(values)}`;
}

function tellMissing(settings: Settings): void {
  for (const { name, without } of ASKED) if (!settings[name]) console.log(dim(`without ${name}: ${without}`));
  if (!settings.WALLET_ENCRYPTION_KEY) console.log(dim("without WALLET_ENCRYPTION_KEY: wallets answer 500"));
}
