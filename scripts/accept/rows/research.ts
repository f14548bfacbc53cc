import * as z from "zod";
import { matches, require, same, type Row } from "../row";
import { onDemand, report, shiftStatus, started, stopped } from "../shapes";
import { HOUR, MINUTE, type World } from "../world";

/** Research on demand, and shifts of eight hours. */

const status = async ({ get }: World, userId: string) =>
  (await get("/mcp/research/status", { userId })).as(shiftStatus);
const stop = async ({ post }: World, userId: string) =>
  (await post("/mcp/research/stop", { userId })).as(stopped).stopped;
const start = async ({ post }: World, body: Record<string, unknown>) =>
  (await post("/mcp/research/start", body)).as(started);
const textsTo = async ({ cards }: World, chatId: string) =>
  (await cards()).filter((card) => card.chatId === chatId).map(({ text }) => text);
/** Counts one shift's collections: only they ask the sentiment model. */
const collections = async ({ sent }: World) => (await sent("sentiment")).length;

const OWN_BOT = "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot";
const CHAT = "7700112233";

export const research: Row[] = [
  {
    id: "research",
    says: "POST /mcp/research. Response: success (boolean), result (ResearchResult) with generatedAt; token (string, optional focus)",
    needs: ["standins"],
    check: async ({ post, user, sent }) => {
      (await post("/mcp/research", { userId: user })).as(onDemand);
      (await post("/mcp/research", { token: "SOL" })).as(onDemand);
      const prompts = (await sent("llm")).map(({ body }) => JSON.stringify(body));
      require(prompts.some((body) => /SOL|Solana/.test(body)), "The focus did not reach the model");
    },
  },
  {
    id: "research-names",
    says: "$BTC, btc and known names (Bitcoin) mean BTC: one cached report",
    check: async ({ post }) => {
      const of = async (token: string) => (await post("/mcp/research", { token })).as(onDemand).result;
      const { generatedAt } = await of("BTC");
      for (const token of ["btc", "$BTC", "Bitcoin"])
        same(`generatedAt for ${token}`, (await of(token)).generatedAt, generatedAt);
    },
  },
  {
    id: "research-cache",
    says: "On-demand research results are cached for 15 minutes",
    needs: ["time"],
    check: async ({ post, advance }) => {
      const at = async () => (await post("/mcp/research", { token: "ETH" })).as(onDemand).result.generatedAt;
      const first = await at();
      await advance(14 * MINUTE);
      same("generatedAt after 14 minutes", await at(), first);
      await advance(2 * MINUTE);
      require((await at()) !== first, "It is the same report after 16 minutes");
    },
  },
  {
    id: "research-upstream",
    says: "502 is every upstream failure; a failed refresh answers 502 even when an older result exists",
    needs: ["standins", "time"],
    check: async ({ post, control, advance }) => {
      (await post("/mcp/research", { token: "ETH" })).as(onDemand);
      await advance(16 * MINUTE);
      await control({ provider: "llm", mode: "status", status: 503 });
      const answer = await post("/mcp/research", { token: "ETH" });
      await control({ provider: "llm", clear: true });
      answer.error(502);
    },
  },
  {
    id: "shift-status",
    says: "start: success, jobId, startedAt, stopsAt (epoch milliseconds, startedAt + 8 hours); status: activeJob with jobId, status, startedAt, stopsAt, elapsedMinutes, remainingMinutes, interimReportsCount, finalReportSent",
    check: async (world) => {
      const userId = world.fresh();
      const shift = await start(world, { userId, token: "BTC" });
      same("stopsAt - startedAt", shift.stopsAt - shift.startedAt, 8 * HOUR);
      const { activeJob } = await status(world, userId);
      same("jobId", activeJob?.jobId, shift.jobId);
      same("startedAt", activeJob?.startedAt, new Date(shift.startedAt).toISOString());
      same("stopsAt", activeJob?.stopsAt, new Date(shift.stopsAt).toISOString());
      same("interimReportsCount", activeJob?.interimReportsCount, 0);
      same("finalReportSent", activeJob?.finalReportSent, false);
      require((activeJob?.elapsedMinutes ?? 99) <= 1, `elapsedMinutes ${String(activeJob?.elapsedMinutes)}`);
      require((activeJob?.remainingMinutes ?? 0) >= 479, `remaining ${String(activeJob?.remainingMinutes)}`);
      await stop(world, userId);
    },
  },
  {
    id: "shift-stop",
    says: "every start makes a new shift; activeJob: the newest active shift; all of the user's active jobs stop; response stopped is the count; an Idempotency-Key makes a repeated start return the first one; activeJob: null when there is none; lastJob the newest that ended, with how",
    check: async (world) => {
      const userId = world.fresh();
      const other = world.fresh();
      same("activeJob before", (await status(world, userId)).activeJob, null);
      const first = await start(world, { userId, token: "BTC" });
      const once = async () =>
        (await world.post("/mcp/research/start", { userId, token: "ETH" }, { "Idempotency-Key": "one" })).as(
          started,
        );
      const second = await once();
      same("jobId of a repeat", (await once()).jobId, second.jobId);
      require(first.jobId !== second.jobId, "Both starts name one job");
      same("activeJob", (await status(world, userId)).activeJob?.jobId, second.jobId);
      await start(world, { userId: other, token: "BTC" });
      same("stopped", await stop(world, userId), 2);
      same("stopped the second time", await stop(world, userId), 0);
      same("stopped of another user", await stop(world, other), 1);
      const { activeJob, lastJob } = await status(world, userId);
      same("activeJob after", activeJob, null);
      same("lastJob", `${lastJob?.jobId} ${lastJob?.status}`, `${second.jobId} stopped`);
    },
  },
  {
    id: "shift-eleventh",
    says: "a user may run several, at most 10: the eleventh is 429",
    needs: ["standins"],
    check: async (world) => {
      const userId = world.fresh();
      for (let count = 0; count < 10; count++) await start(world, { userId });
      (await world.send("POST", "/mcp/research/start", { body: JSON.stringify({ userId }) })).error(429);
      same("stopped", await stop(world, userId), 10);
    },
  },
  {
    id: "shift-whole",
    says: "initial data collection runs immediately, of three sources; start notification: the token being tracked, duration 8 hours, data collection every 30 minutes, reports at 2.5h, 5h and 8h; active: at least 30 minutes since last collection: a data point is stored; interim report 1 at 2.5 hours, 2 at 5 hours, final report at 8 hours; job completes; finalReportSent becomes true. A report's card: title with checkpoint, elapsed time and date, outlook line, short summary, key signals, full analysis. Each report is one agent run. Reports are synthesised from: most persistent trending tokens, the 8 latest movers by 24h change, the last 2 cycles of sentiment and of on-chain signals",
    needs: ["standins", "time", "people"],
    check: async (world) => {
      const { userId, person } = await signIn(world, "shift");
      await start(world, { userId, token: "SOL", messengerChatId: CHAT });
      const counts = async () => {
        const { activeJob, recentReports } = await status(world, userId);
        return `${activeJob?.interimReportsCount ?? "ended"} ${recentReports.map(({ type }) => type).join()}`;
      };
      await world.advance(MINUTE);
      await checkFirstMinute(world);
      for (const [minutes, expected] of [
        [24, 1],
        [12, 2],
        [30, 3],
      ] as const) {
        await world.advance(minutes * MINUTE);
        same(`collections ${minutes} minutes later`, await collections(world), expected);
      }
      await world.outage(1.2 * HOUR);
      await world.advance(0.1 * HOUR);
      same("before 2.5 hours", await counts(), "0 ");
      await world.advance(0.3 * HOUR);
      same("after 2.5 hours", await counts(), "1 interim");
      await world.outage(2 * HOUR);
      await world.advance(0.2 * HOUR);
      same("before 5 hours", await counts(), "1 interim");
      await world.advance(0.3 * HOUR);
      same("after 5 hours", await counts(), "2 interim,interim");
      await world.outage(2.5 * HOUR);
      await world.advance(0.2 * HOUR);
      same("before 8 hours", await counts(), "2 interim,interim");
      await world.advance(0.4 * HOUR);
      same("after 8 hours", await counts(), "ended final,interim,interim");
      const { lastJob, recentReports } = await status(world, userId);
      same("lastJob.status", lastJob?.status, "completed");
      same("lastJob.finalReportSent", lastJob?.finalReportSent, true);
      require(recentReports.every(({ messengerSent }) => messengerSent), "A report was not delivered");
      const latest = (await world.get("/mcp/research/report", { token: "SOL" })).as(report);
      same("type", latest.type, "final");
      same("jobToken", latest.jobToken, "SOL");
      require(!latest.userId.includes(userId), "The report by token shows the userId");
      matches("The report's userId", latest.userId, /^usr_/);
      await checkShiftCards(world);
      await checkSynthesisPrompt(world);
      same("agent runs", (await listOwnRows(person, "runs", z.looseObject({}))).length, 3);
    },
  },
  {
    id: "shift-delivery",
    says: "Delivery goes to the user's own bot when configured, otherwise to the default bot; telegramChatId is accepted as input alias; MESSENGER_CHAT_ID: default chat id for delivery",
    needs: ["standins", "time"],
    check: async (world) => {
      const userId = world.fresh();
      await world.post("/user/messenger", { userId, messengerBotToken: OWN_BOT, messengerChatId: CHAT });
      await start(world, { userId, token: "SOL" });
      await world.advance(MINUTE);
      const chatCards = (await world.cards()).filter(({ chatId }) => chatId === CHAT);
      same("the bot", chatCards.map(({ botToken }) => botToken).join(), OWN_BOT);
      await start(world, { userId: world.user, telegramChatId: CHAT });
      await world.advance(MINUTE);
      same("cards to the chat", (await textsTo(world, CHAT)).length, 2);
      await start(world, { userId: world.fresh(), token: "SOL" });
      await world.advance(MINUTE);
      const others = (await world.cards()).filter(({ chatId }) => chatId !== CHAT);
      require(others.length > 0, "Nothing was sent to the default chat");
    },
  },
  {
    id: "shift-stopped-in-flight",
    says: "A job stopped while a report is in flight: the late result is dropped, nothing is sent",
    needs: ["standins", "time"],
    check: async (world) => {
      const userId = world.fresh();
      await start(world, { userId, token: "SOL", messengerChatId: CHAT });
      await world.outage(2.2 * HOUR);
      await world.advance(0.1 * HOUR);
      await world.control({ provider: "llm", mode: "slow", ms: 20_000 });
      await world.advance(0.2 * HOUR + 20_000);
      const before = (await textsTo(world, CHAT)).length;
      await stop(world, userId);
      await world.advance(HOUR);
      same("further cards", (await textsTo(world, CHAT)).length - before, 0);
      same("reports", (await status(world, userId)).recentReports.length, 0);
    },
  },
  {
    id: "shift-failing-final",
    says: "A final report that still fails after its retries leaves completed with finalReportSent:false and an error",
    needs: ["standins", "time"],
    check: async (world) => {
      const userId = world.fresh();
      await start(world, { userId, token: "SOL" });
      await world.outage(7.9 * HOUR);
      await world.control({ provider: "llm", mode: "status", status: 400 });
      await world.advance(HOUR);
      const { activeJob, lastJob } = await status(world, userId);
      same("activeJob", activeJob, null);
      same("lastJob.status", lastJob?.status, "completed");
      same("lastJob.finalReportSent", lastJob?.finalReportSent, false);
      require(typeof lastJob?.error === "string", "lastJob has no error");
    },
  },
];

/** Checks the effects of a shift's first minute. */
async function checkFirstMinute(world: World): Promise<void> {
  same("questions to the sentiment model", await collections(world), 1);
  const prompts = (await world.sent("llm")).map(({ body }) => JSON.stringify(body));
  for (const [what, pattern] of [
    ["on-chain signals", /whale/i],
    ["the focus token", /SOL|Solana/],
  ] as const)
    require(prompts.some((body) => pattern.test(body)), `No prompt is about ${what}`);
  const [text = "", ...more] = await textsTo(world, CHAT);
  same("further cards", more.length, 0);
  for (const part of [/SOL/, /8.?h/i, /30.min/i, /2\.5.?h/, /5.?h/]) matches("The notification", text, part);
}

/** Checks the cards of a whole shift. */
async function checkShiftCards(world: World): Promise<void> {
  const texts = await textsTo(world, CHAT);
  for (const title of [/interim report 1/i, /interim report 2/i, /final report/i]) {
    const card = texts.find((text) => title.test(text));
    require(card !== undefined, `No card is titled ${title}`);
    matches("The title", card, /checkpoint · \d+h(?: \d+min)? elapsed · \d{1,2} \w{3} 20\d\d/);
    matches(
      "The outlook",
      card,
      /[🟢🔴🟡] Outlook: (?:<b>)?(?:bullish|bearish|neutral)(?:<\/b>)?\n\n[🟢🔴🟡] .+\n/u,
    );
    matches("The key signals", card, /Key signals(?:<\/b>)?\n[🟢🔴🟡] .+ · \d+\s% · .+/u);
    matches("The analysis", card, /Full analysis(?:<\/b>)?\n[^]{400}/);
  }
}

/** Checks that the prompt of a final report has all collections. */
async function checkSynthesisPrompt({ sent }: World): Promise<void> {
  const written = (await sent("llm")).filter(({ schema }) => schema === "research_result");
  const prompt = JSON.stringify(written.at(-1)?.body);
  matches("The prompt", prompt, /persistent trending tokens[^:]*: \S+ in \d+ of \d+,/);
  const symbols = new Set<string>();
  let hasChange = false;
  for (const line of prompt.split("\\n")) {
    const [first = ""] = line.split(" | ");
    if (first === "subject") hasChange = line.includes(" | price change over 24 hours");
    else if (hasChange && / \| f\d+ /.test(line)) symbols.add(first);
  }
  require(symbols.size >= 8, `The prompt has the changes of ${String([...symbols])} alone`);
  for (const source of ["Social sentiment", "On-chain signals"])
    same(`cycles of ${source}`, prompt.split(`${source}: `).length - 1, 2);
}

/** Signs a person in. @returns The person, and the account's userId. */
export async function signIn(world: World, subject: string) {
  const person = await world.as(subject);
  const { userId } = z.object({ userId: z.string() }).parse(await person.mutation("accounts/profile:signIn"));
  return { person, userId };
}

/** The person's newest rows of a section of their data. */
export async function listOwnRows<Row>(
  person: Awaited<ReturnType<World["as"]>>,
  section: string,
  row: z.ZodType<Row>,
): Promise<Row[]> {
  const paginationOpts = { numItems: 20, cursor: null };
  const { page } = z
    .object({ page: z.array(z.string()) })
    .parse(await person.query("accounts/data:page", { section, paginationOpts }));
  return page.map((one) => row.parse(JSON.parse(one)));
}
