import { focusIn } from "./grammar";
import { internal } from "../../_generated/api";
import type { MutationCtx } from "../../_generated/server";
import { payerOf } from "../../lib/budget/payers";
import { listedSymbol } from "../../market/sources/lists";
import { isSymbol } from "../../lib/money/tokens";
import { dateTime } from "../../lib/time";
import type { Button, Paragraph } from "../../messenger/format";
import { configOf } from "../../messenger/model";
import { fullTextCard, sourcesCard, stopButton } from "../../research/reports/cards";
import { activeShiftsOf, lastCollectionOf, latestReportsOf } from "../../research/model";
import type { Result } from "../../research/shapes";
import { notice, statusCard } from "../cards";
import { orReason, reply, type Command, type Outcome } from "./command";

/** The bot's commands about research, and its questions. */

/** The buttons below a result. @param focus "" for the whole market. */
export function researchButtons(focus: string): Button[][] {
  const of = (command: string) => (focus === "" ? command : `${command} ${focus}`);
  return [
    [
      { text: "Full text", command: of("report") },
      { text: "Sources", command: of("sources") },
      { text: "Follow for 8 h", command: of("follow") },
    ],
  ];
}

export const researchCommands: readonly Command[] = [
  {
    name: "research",
    argument: "[TOKEN]",
    summary: "A research snapshot of a token, or of the whole market",
    access: "anywhere",
    run: (ctx, { argument }) =>
      onToken(ctx, argument, "research", (focus) => ({
        answer: notice(`Researching ${nameOf(focus)}: this takes up to a minute…`),
        later: { kind: "research", focus },
      })),
  },
  shown("report", "The whole text of the last research", fullTextCard),
  shown("sources", "The sources of the last research", sourcesCard),
  {
    name: "follow",
    argument: "[TOKEN]",
    summary: "Start a research shift of eight hours",
    access: "linked",
    run: (ctx, { sender, userId, argument }) => {
      const begin = async (focus: string): Promise<Outcome> => {
        const about = focus === "" ? {} : { token: focus };
        const stoppable = await isOwnChat(ctx, userId, sender.chatId);
        const { jobId } = await ctx.runMutation(internal.research.shifts.start, {
          ...{ userId, signedIn: true, stoppable },
          paidBy: payerOf({ userId, signedIn: true, address: null }),
          ...about,
        });
        // The card at the start of a shift says everything, if it is sent to this chat.
        if (stoppable) return { answer: [] };
        return {
          answer: notice(
            `I am following ${nameOf(focus)} for eight hours: reports come to the chat that you have set.`,
          ),
          buttons: [[stopButton(jobId, focus === "" ? null : focus)]],
        };
      };
      return onToken(ctx, argument, "follow", (focus) => orReason(() => begin(focus)));
    },
  },
  {
    name: "stop",
    argument: "[TOKEN]",
    summary: "Stop your research shifts, or that of a token",
    access: "linked",
    inPlace: true,
    run: async (ctx, { userId, argument, isTap }) => {
      const active = await activeShiftsOf(ctx, userId);
      if (active.length === 0) return reply("You have no research shift running.");
      const choices = active.map(({ _id, token }) => [stopButton(_id, token ?? null)]);
      // Buttons of an earlier version name no shift.
      if (isTap && argument === "") return { answer: notice("Which one?"), buttons: choices };
      const token = focusIn(argument);
      const meant = active.filter((one) => argument === "" || one._id === argument || one.focus === token);
      if (meant.length === 0)
        return { answer: notice("That shift has ended already. These are running:"), buttons: choices };
      for (const { _id: jobId } of meant)
        await ctx.runMutation(internal.research.shifts.stop, { userId, jobId });
      const undo = meant.map(({ _id, token: of }) => [
        { text: meant.length === 1 ? "Undo" : `Undo: ${of ?? "the market"}`, command: `resume ${_id}` },
      ]);
      const stopped = meant.map(({ focus }) => nameOf(focus)).join(" and ");
      return { answer: notice(`I no longer follow ${stopped}.`), buttons: undo };
    },
  },
  {
    name: "resume",
    hidden: true,
    summary: "Take back a stop",
    access: "linked",
    inPlace: true,
    run: (ctx, { userId, argument }) =>
      orReason(async () => {
        const jobId = ctx.db.normalizeId("shifts", argument);
        const goesOn =
          jobId !== null && (await ctx.runMutation(internal.research.shifts.resume, { userId, jobId }));
        const shift = jobId === null ? null : await ctx.db.get("shifts", jobId);
        if (jobId === null || shift === null || !goesOn)
          return reply("This button no longer works: a stop can be undone for ten minutes.");
        return {
          answer: notice(`I follow ${nameOf(shift.focus)} again, until ${dateTime(shift.stopsAt)}.`),
          buttons: [[stopButton(jobId, shift.token ?? null)]],
        };
      }),
  },
  {
    name: "status",
    summary: "How your research shift is doing",
    access: "linked",
    run: async (ctx, { userId }) => {
      const reports = await latestReportsOf(ctx, userId);
      const active = await activeShiftsOf(ctx, userId);
      const [newest] = active;
      const collection = newest === undefined ? null : await lastCollectionOf(ctx, newest._id);
      return { answer: statusCard({ active, collection, reports }, Date.now()) };
    },
  },
  {
    name: "ask",
    argument: "QUESTION",
    summary: "Ask the crypto assistant; a plain question works too",
    access: "anywhere",
    run: (_ctx, { argument }) => {
      if (argument === "")
        return reply("Put your question after the command: ", { command: "ask" }, " How is Ethereum doing?");
      return { answer: notice("Thinking…"), later: { kind: "ask", question: argument } };
    },
  },
];

async function onToken(
  ctx: MutationCtx,
  argument: string,
  command: string,
  run: (focus: string) => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  const name = focusIn(argument) ?? "?";
  if (name === "") return run("");
  // The exchanges may know a symbol that no list has; a name they do not know.
  const focus = (await listedSymbol(ctx, name)) ?? name;
  if (isSymbol(focus)) return run(focus);
  return reply("Name one token by its symbol, such as ", { command }, " BTC.");
}

/** Whether a linked user's cards come from this bot to this chat of theirs, rather than where they have set them to go. */
async function isOwnChat(ctx: MutationCtx, userId: string, chatId: string): Promise<boolean> {
  const config = await configOf(ctx, userId);
  return config?.sealedBotToken === undefined && (config?.chatId ?? chatId) === chatId;
}

function nameOf(focus: string): string {
  return focus === "" ? "the whole market" : focus;
}

/** Shows a part of the last result on a focus. Results are for everybody, no matter who asked for them. */
function shown(
  name: "report" | "sources",
  summary: string,
  card: (focus: string, result: Result) => Paragraph[],
): Command {
  return {
    name,
    argument: "[TOKEN]",
    summary,
    access: "anywhere",
    run: (ctx, { argument }) =>
      onToken(ctx, argument, name, async (focus) => {
        const found = await ctx.runQuery(internal.research.results.current, { focus });
        if (found !== null) return { answer: card(focus, found.result) };
        const there = `There is no research on ${nameOf(focus)} yet: `;
        const rest: Paragraph =
          focus === ""
            ? [" writes it, and ", { command: name }, " SOL shows what there is on one token."]
            : [` ${focus} writes it.`];
        return reply(there, { command: "research" }, ...rest);
      }),
  };
}
