import * as z from "zod";
import { matches, require, same, type Row } from "../row";
import { dailyRecap, latestSignals, signalHistory, whaleAlerts, whaleAlert } from "../shapes";
import { HOUR, MINUTE, type World } from "../world";

/** The day's signals, their outcomes and recaps, and the alerts on whales. Simulated worlds begin at 07:58 on a Sunday. */

const PATH = "/mcp/signals";
const CHAT = "7700112244";
const latest = async ({ get }: World) => (await get(`${PATH}/latest`)).as(latestSignals).signals;
const history = async ({ get }: World, query: Record<string, string> = {}) =>
  (await get(`${PATH}/history`, query)).as(signalHistory);
const both = async <Shape extends z.ZodType>(
  { get, post }: World,
  path: string,
  input: Record<string, string>,
  shape: Shape,
) => [(await get(path, input)).as(shape), (await post(path, input)).as(shape)];

/** A model's proposal at a price of 100. */
const planProposals = (signal: "BUY" | "SELL", change: Record<string, unknown> = {}) => {
  const up = signal === "BUY" ? 1 : -1;
  const levels = { entry: 100, tp1: 100 + up, tp2: 100 + 2 * up, sl: 100 - up };
  const content = JSON.stringify({ signal, ...levels, confidence: 70, reasoning: "As planned.", ...change });
  return { provider: "llm", mode: "reply", schema: "trading_signal", content };
};

export const signals: Row[] = [
  {
    id: "signals-latest",
    says: "/mcp/signals/latest: token (BTC, ETH; omit for both), userId (optional)",
    check: async (world) => {
      for (const body of await both(world, `${PATH}/latest`, {}, latestSignals))
        require("BTC" in body.signals && "ETH" in body.signals, "A token is missing");
      for (const body of await both(world, `${PATH}/latest`, { token: "BTC" }, latestSignals))
        require("BTC" in body.signals && !("ETH" in body.signals), "Not BTC alone");
      (await world.get(`${PATH}/latest`, { token: "DOGE" })).error(400);
    },
  },
  {
    id: "signals-issued",
    says: "Trading signal: daily 08:00 UTC, 1-hour analysis for BTC and ETH; parsed; stored; signal card sent to the messenger; it holds entry price, TP1, TP2, stop loss and a confidence score; userId (string, optional, for messenger delivery); a card somebody requested without a chat of their own is not sent: messengerSent: false",
    needs: ["standins", "time"],
    check: async (world) => {
      same("signals before 08:00", (await history(world)).count, 0);
      await world.advance(10 * MINUTE);
      const { BTC, ETH } = await latest(world);
      for (const [token, signal] of [
        ["BTC", BTC],
        ["ETH", ETH],
      ] as const) {
        require(signal !== null && signal !== undefined, `There is no signal on ${token}`);
        for (const field of ["entry", "tp1", "tp2", "sl", "confidence", "reasoning", "expiresAt"])
          require(field in signal, `${field} is missing`);
        same("timeframe", signal.timeframe, "1h");
        same("status", signal.status, "PENDING");
        require(signal.entry > 0 &&
          signal.confidence >= 0 &&
          signal.confidence <= 100, "entry or confidence");
        if (signal.signal !== "HOLD")
          require(signal.tp1 !== null && signal.tp2 !== null && signal.sl !== null, "A level is missing");
        matches("generatedAt", signal.generatedAt, /T08:0\d/);
      }
      const texts = (await world.cards()).map(({ text }) => text).join("\n");
      for (const token of [/BTC/, /ETH/]) matches("The cards", texts, token);
      const sendsCard = async (userId: string) =>
        (await world.get(`${PATH}/latest`, { userId })).as(latestSignals).messengerSent;
      const before = (await world.cards()).length;
      same("messengerSent without a chat", await sendsCard(world.fresh()), false);
      same("further cards", (await world.cards()).length - before, 0);
      // A user of its own: settings are never read back, and the caller's stay.
      const userId = world.fresh();
      await world.post("/user/messenger", { userId, messengerChatId: CHAT });
      same("messengerSent", await sendsCard(userId), true);
      const mine = (await world.cards()).filter(({ chatId }) => chatId === CHAT);
      require(mine.length > 0, "No card was sent to the user's chat");
    },
  },
  ...(["BUY", "SELL"] as const).map((signal): Row => ({
    id: `signals-${signal}`,
    says: "PENDING, price >= TP1: WIN; price <= SL: LOSS; SELL is the mirror image; every 30 minutes; winrate: 0..100, wins / (wins + losses); the entry is the measured price at issue (the model's own within 0.5 %, replaced)",
    needs: ["standins", "time", "market"],
    check: async (world) => {
      await world.setPrices({ BTC: 100, ETH: 100 });
      await world.control(planProposals(signal, { entry: 100.3 }));
      await world.advance(5 * MINUTE);
      const issued = (await latest(world)).BTC;
      same("signal and entry", `${issued?.signal} ${issued?.entry}`, `${signal} 100`);
      await world.advance(10 * MINUTE);
      same("status before", (await latest(world)).BTC?.status, "PENDING");
      await world.setPrices({ BTC: 101.5, ETH: 98.5 });
      await world.advance(65 * MINUTE);
      const { BTC, ETH } = await latest(world);
      const [won, lost] = signal === "BUY" ? [BTC, ETH] : [ETH, BTC];
      same("statuses", `${won?.status} ${lost?.status}`, "WIN LOSS");
      const [gain, loss] = [won?.pnlPercent ?? 0, lost?.pnlPercent ?? 0];
      require(gain > 0 && loss < 0, `pnlPercent ${gain} and ${loss}`);
      const { winrate, wins, losses } = (await history(world)).stats;
      same("wins, losses, winrate", `${wins} ${losses} ${winrate}`, "1 1 50");
    },
  })),
  {
    id: "signals-expired",
    says: "PENDING, tracker run, signal age > 6 hours: EXPIRED; WIN or LOSS is checked first",
    needs: ["standins", "time", "market"],
    check: async (world) => {
      await world.setPrices({ BTC: 100, ETH: 100 });
      await world.control(planProposals("BUY"));
      await world.advance(5 * MINUTE);
      await world.outage(5.7 * HOUR);
      await world.advance(5 * MINUTE);
      same("status before", (await latest(world)).BTC?.status, "PENDING");
      await world.setPrices({ BTC: 100, ETH: 101.5 });
      await world.advance(0.7 * HOUR);
      const { BTC, ETH } = await latest(world);
      same("statuses after", `${BTC?.status} ${ETH?.status}`, "EXPIRED WIN");
    },
  },
  {
    id: "signals-refused",
    says: "A signal whose levels are out of order is sent back to the model once and then refused (nothing stored); a signal whose entry is more than 3 % from the live price is refused",
    needs: ["standins", "time", "market"],
    check: async (world) => {
      await world.setPrices({ BTC: 100, ETH: 100 });
      const far = { entry: 104, tp1: 106, tp2: 108, sl: 102 };
      await world.control({ ...planProposals("BUY", far), times: 2 });
      await world.control(planProposals("BUY", { sl: 100.5 }));
      await world.advance(5 * MINUTE);
      same("signals", (await history(world)).count, 0);
      const prompts = (await world.sent("llm")).filter(({ schema }) => schema === "trading_signal");
      require(prompts.length >= 4, `The model was asked ${prompts.length} times for two tokens`);
    },
  },
  {
    id: "signals-history",
    says: "/mcp/signals/history: token (optional filter), limit (number, default 10), newest first; win/loss record and winrate",
    needs: ["time"],
    check: async (world) => {
      await world.advance(10 * MINUTE);
      const { count, signals: all, stats } = await history(world);
      same("count", count, all.length);
      require(count === 2, `${count} signals`);
      const times = all.map(({ generatedAt }) => generatedAt);
      same("order", times.join(), times.toSorted().toReversed().join());
      same("with limit 1", (await history(world, { limit: "1" })).signals.length, 1);
      const eth = await history(world, { token: "ETH" });
      require(eth.signals.length === 1 && eth.signals.every(({ token }) => token === "ETH"), "Not ETH alone");
      require("winrate" in stats, "stats has no winrate");
      same("winrate without closed signals", stats.winrate, null);
    },
  },
  {
    id: "signals-history-limits",
    says: "limit 1..100; default 10",
    check: async (world) => {
      for (const limit of ["0", "101", "ten"]) (await world.get(`${PATH}/history`, { limit })).error(400);
      require((await history(world)).signals.length <= 10, "More than 10 by default");
      (await world.post(`${PATH}/history`, { limit: 100 })).as(signalHistory);
    },
  },
  {
    id: "signals-recap-shape",
    says: "/mcp/signals/recap: { date, wins, losses, expired, pending, winrate, totalPnlPercent, byToken, review, generatedAt }",
    check: async (world) => void (await both(world, `${PATH}/recap`, {}, dailyRecap)),
  },
  {
    id: "signals-recaps",
    says: "Recap: win count, loss count, total PnL, AI-written review; Sunday 23:55 UTC: recap over the Monday-to-Sunday window stored (per-day map of BTC and ETH signals, wins, losses, PnL, AI review); full card sent to the messenger",
    needs: ["standins", "time"],
    check: async (world) => {
      await world.advance(5 * MINUTE);
      await world.outage(15 * HOUR);
      await world.advance(0.8 * HOUR);
      for (const body of await both(world, `${PATH}/recap`, {}, dailyRecap)) {
        require((body.review ?? "").length > 0, "There is no review");
        same("signals", body.wins + body.losses + body.expired + body.pending, 2);
      }
      const before = (await world.cards()).length;
      await world.advance(20 * MINUTE);
      const texts = (await world.cards()).slice(before).map(({ text }) => text);
      const week = texts.find((text) => /week/i.test(text)) ?? "";
      matches("The week's card", week, /Won \d+ · lost \d+ · expired \d+/);
      matches("The week's PnL", week, /[+−]?\d+\.\d\d\s%/);
      for (const day of ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
        matches(`The week's ${day}`, week, new RegExp(`${day}(?:</b>)? · BTC .+ · ETH .+`));
      matches("The week's review", week, /Review[^]+“.+”/);
    },
  },
  {
    id: "whales-look-back",
    says: "/mcp/whale-alerts: hours (number, default 6, look-back window), newest first, hours 1..168",
    check: async (world) => {
      for (const body of await both(world, "/mcp/whale-alerts", {}, whaleAlerts))
        same("hours", body.hours, 6);
      for (const body of await both(world, "/mcp/whale-alerts", { hours: "12" }, whaleAlerts)) {
        same("hours", body.hours, 12);
        same("count", body.count, body.alerts.length);
        const times = body.alerts.map(({ detectedAt }) => detectedAt);
        require(times.every((time, at) => at === 0 || time <= (times[at - 1] ?? 0)), "Not newest first");
      }
      for (const hours of ["169", "half", "-1"]) (await world.get("/mcp/whale-alerts", { hours })).error(400);
    },
  },
  {
    id: "whales-hourly",
    says: "hourly: whale-detection prompt sent to the agent API; job polled until complete; alert list stored; card: header, window, then one block per alert type; userId (optional, for messenger delivery)",
    needs: ["standins", "time"],
    check: async (world) => {
      await world.advance(15 * MINUTE);
      const requests = await world.sent("agent");
      require(requests.length >= 2, `The agent API was asked ${requests.length} times: a prompt and its job`);
      const { alerts } = (await world.get("/mcp/whale-alerts")).as(whaleAlerts);
      require(alerts.length > 0, "No alert is stored");
      const texts = (await world.cards()).map((card) => card.text).filter((text) => /whale/i.test(text));
      const blocks = {
        cex_inflow: /inflow/i,
        cex_outflow: /outflow/i,
        large_transfer: /large|on-chain/i,
        smart_money: /smart money/i,
      };
      for (const alert of alerts) {
        whaleAlert.parse(alert);
        matches("The card", texts.join("\n"), blocks[alert.alertType]);
      }
      const userId = world.fresh();
      await world.post("/user/messenger", { userId, messengerChatId: CHAT });
      const answer = (await world.get("/mcp/whale-alerts", { userId })).as(whaleAlerts);
      same("messengerSent", answer.messengerSent, true);
      const mine = (await world.cards()).filter(({ chatId }) => chatId === CHAT);
      require(mine.length > 0, "No card was sent to the user's chat");
      await world.advance(HOUR);
      require((await world.sent("agent")).length > requests.length, "No request was made an hour later");
    },
  },
  {
    id: "whales-undelivered",
    says: "Alerts are stored whether or not messenger delivery is configured",
    needs: ["time", "settings"],
    check: async (world) => {
      await world.configure({ MESSENGER_BOT_TOKEN: null, MESSENGER_CHAT_ID: null });
      await world.advance(15 * MINUTE);
      const { alerts } = (await world.get("/mcp/whale-alerts")).as(whaleAlerts);
      require(alerts.length > 0 &&
        alerts.every(({ messengerSent }) => !messengerSent), "None is stored, or one is sent");
    },
  },
];
