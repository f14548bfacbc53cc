import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { getErrorMessage } from "../convex/lib/errors";
import { command } from "./command";
import { createPatience } from "./patience";
import { startStack, type Stack } from "./stack/stack";
import { bold, dim, framedCard, nextStep } from "./terminal";

/**
 * `npm run demo`: a whole 8-hour research shift on accelerated time, on a local stack of its own that keeps nothing.
 * Shows the shift's progress, then the cards that the messenger received.
 */

/** 8 hours in 40 seconds, plus the answer times of the stand-ins. */
const SPEED = 720;
const SHIFT_MINUTES = 480;
const USER = "demo-user-4f8Kq2Zt7Xw9";
/** A bot of the user's own, which sends the cards. */
const OWN_BOT = {
  userId: USER,
  messengerBotToken: "654321:AAdemoDemoDemoDemoDemoDemoDemoDemoD",
  messengerChatId: "1001",
};
const TOKEN = "SOL";
/** A shift without progress for this long has failed, even on a slow machine. */
const PATIENCE_MS = 60_000;

const statusShape = z.object({
  activeJob: z.object({ elapsedMinutes: z.number(), interimReportsCount: z.number() }).nullable(),
  recentReports: z.array(z.object({ type: z.string(), messengerSent: z.boolean() })),
});

/** @returns The exit code. */
async function play(): Promise<number> {
  const stack = await startStack({ speed: SPEED, ephemeral: true, seed: "demo" });
  try {
    const startedAt = performance.now();
    console.log(bold(`An 8-hour research shift on ${TOKEN}, ${SPEED} times faster than real time`));
    console.log(dim("The outside providers are simulated; everything else is the service itself.\n"));
    await post(stack, "/user/messenger", OWN_BOT);
    await post(stack, "/mcp/research/start", { userId: USER, token: TOKEN });
    await watch(stack);

    const sent = stack.standins.sent("messenger");
    const cards = sent.filter(({ method }) => method === "sendMessage" || method === "sendPhoto");
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    console.log(`\n${bold("Cards that the messenger received")}`);
    for (const { text, photo } of cards) {
      const picture = photo === undefined ? [] : [`[picture, ${photo.width} × ${photo.height}]`];
      console.log(`\n${framedCard([...picture, ...(text === "" ? [] : [text])].join("\n\n"))}`);
    }
    console.log(dim(`\n${cards.length} messages, 17 collections, 3 reports in ${seconds} s.`));
    console.log(nextStep("npm start runs the service"));
    return 0;
  } catch (error) {
    console.error(getErrorMessage(error));
    return 1;
  } finally {
    await stack.stop();
  }
}

/** Shows the shift's progress until its final report has been delivered. */
async function watch({ siteUrl, standins }: Stack): Promise<void> {
  const expectProgress = createPatience(PATIENCE_MS, () => performance.now());
  for (let shown = ""; ;) {
    const response = await fetch(`${siteUrl}/mcp/research/status?userId=${USER}`);
    const status = statusShape.parse(await response.json());
    const minutes = Math.min(SHIFT_MINUTES, status.activeJob?.elapsedMinutes ?? SHIFT_MINUTES);
    const collections = standins.sent("sentiment").length;
    const clock = `${String(Math.floor(minutes / 60))}h ${String(minutes % 60).padStart(2, "0")}m`;
    const reports = status.recentReports.length;
    const done = `collections ${collections}/17  reports ${reports}/3`;
    if (!expectProgress(clock + done)) throw new Error("Nothing more comes of the shift");
    if (done !== shown) console.log(`${clock}  ${done}`);
    shown = done;
    const delivered = status.recentReports.filter(({ messengerSent }) => messengerSent).length;
    if (status.activeJob === null && delivered === 3) return;
    await sleep(200);
  }
}

async function post({ siteUrl }: Stack, path: string, body: unknown): Promise<void> {
  const response = await fetch(`${siteUrl}${path}`, { method: "POST", body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
}

const USAGE = `Usage: npm run demo

A research shift of eight hours, in less than a minute.`;

await command({ usage: USAGE, flags: {} }, play);
process.exit();
