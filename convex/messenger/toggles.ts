import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { getRequired } from "../lib/env";
import { defined, listKeys } from "../lib/objects";
import { isAdministrator } from "../providers/messenger";
import type { Button, Paragraph } from "./format";
import type { Topic } from "./tables";

/** The toggles of a chat's subscriptions: what they show, and who may use them. */

const TOPICS: Readonly<Record<Topic, { name: string; what: string }>> = {
  signals: { name: "Daily signals", what: "BTC and ETH, every day at 08:00 UTC" },
  outcomes: { name: "Outcomes", what: "how each signal ended, as soon as it has" },
  whales: { name: "Whales", what: "large movements of coins, once an hour if there were any" },
  weekly: { name: "Weekly recap", what: "the signals' week, on Sunday night" },
};

type Answer = { answer: Paragraph[]; buttons?: Button[][] };

/**
 * Switches a chat's subscriptions, if its sender decides for the chat, and shows them.
 * @param argument `signals on`; `off` alone for all of them; anything else only shows them.
 * @param isStop Whether it comes from a card, which stays as it is.
 * @returns No answer to a tap by anybody else: a group's card stays as it is.
 * @throws AppError `upstream` where the messenger does not say whether the sender is an administrator.
 */
export async function answerToggle(
  ctx: ActionCtx,
  sender: Pick<Doc<"subscriptions">, "chatId" | "chatName" | "threadId"> & {
    alone: boolean;
    messengerId: string;
  },
  { argument, isTap, isStop }: { argument: string; isTap: boolean; isStop: boolean },
): Promise<Answer> {
  const { chatId, chatName, threadId, alone, messengerId } = sender;
  // A chat that speaks itself is a channel, or a group by its anonymous administrator.
  const decides = alone || messengerId === chatId;
  if (!decides && !(await isAdministrator(getRequired("MESSENGER_BOT_TOKEN"), { chatId, messengerId })))
    return { answer: isTap ? [] : [NOT_YOURS] };
  const [, topicName = "", way = ""] = /^(?:(\w+)\s+)?(on|off)$/i.exec(argument.toLowerCase()) ?? [];
  const all = listKeys(TOPICS);
  const topics = way === "" ? [] : all.filter((topic) => topicName === "" || topic === topicName);
  const place = { chatId, ...defined({ chatName, threadId }), isPrivate: alone };
  const change = { ...place, topics, isOn: way === "on" };
  const on: Topic[] = await ctx.runMutation(internal.messenger.subscriptions.switchTopics, change);
  const stopped = topics.map((topic) => TOPICS[topic].name.toLowerCase()).join(", ");
  return {
    answer: isStop && stopped !== "" ? [[`Stopped here: ${stopped}.`]] : [TITLE, describeTopics(all)],
    buttons: all.map((topic) => {
      const [state, other] = on.includes(topic) ? (["on", "off"] as const) : (["off", "on"] as const);
      const text = `${state === "on" ? "🔔" : "🔕"} ${TOPICS[topic].name}: ${state}`;
      return [{ text, command: `switch ${topic} ${other}` }];
    }),
  };
}

const TITLE: Paragraph = [{ bold: "🔔 News for this chat" }, "\nTap to switch on or off."];
const NOT_YOURS: Paragraph = [
  "Only administrators of this chat switch its news. If you are one, make me an administrator, too: otherwise the messenger may not tell me.",
];

function describeTopics(topics: readonly Topic[]): Paragraph {
  return topics.flatMap((topic, index) => [
    index === 0 ? "" : "\n",
    { bold: TOPICS[topic].name },
    `: ${TOPICS[topic].what}`,
  ]);
}
