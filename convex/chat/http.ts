import * as z from "zod";
import { internal } from "../_generated/api";
import { AppError } from "../lib/errors";
import { endpoint, type MountedEndpoint } from "../lib/http";
import { absentWhenEmpty, userId } from "../lib/input";
import { asksForKey, SECURITY_MESSAGE } from "../lib/keyRequests";
import { DEFAULT_AGENT, isAgent } from "./agents";

/** Of a longer history, the last turns that fit are kept. */
const HISTORY_CHARS = 24_000;

const turn = z.object({
  role: z.enum(["user", "assistant"], "must be user or assistant"),
  content: z.string("must be a string").max(20_000, "must be at most 20000 characters"),
});

const chat: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/mcp/chat",
  summary: "Chat with a named agent, with live market context.",
  needs: ["LLM_GATEWAY_API_KEY"],
  limit: "chat",
  input: z.object({
    question: z
      .string("must be a string")
      .trim()
      .min(1, "is required")
      .max(8_000, "must be at most 8000 characters"),
    agentId: absentWhenEmpty(
      z.string("must be a string").trim().max(64, "must be at most 64 characters"),
    ).describe("primary-default (the default), news-default or marketdata-default"),
    messages: absentWhenEmpty(
      z.array(turn, "must be an array of turns").max(100, "must be at most 100 turns"),
    ).describe("Earlier turns, oldest first."),
    userId: absentWhenEmpty(userId),
  }),
  returns: z.object({ answer: z.string(), agentId: z.string(), model: z.string() }),
  handler: async (ctx, { question, agentId = DEFAULT_AGENT, messages = [], userId }, { caller }) => {
    if (!isAgent(agentId)) throw new AppError("not_found", `There is no agent named ${agentId}`);
    if (asksForKey(question)) return { answer: SECURITY_MESSAGE, agentId, model: "none" };
    const { answer, model } = await ctx.runAction(internal.chat.replies.answer, {
      agentId,
      question,
      messages: lastTurns(messages),
      caller,
      personal: await ctx.runQuery(internal.users.access.speaksFor, { userId: userId ?? null }),
    });
    return { answer, agentId, model };
  },
});

function lastTurns(turns: z.output<typeof turn>[]): z.output<typeof turn>[] {
  let room = HISTORY_CHARS;
  const kept: z.output<typeof turn>[] = [];
  for (const one of turns.toReversed()) {
    room -= one.content.length;
    if (room < 0) break;
    if (one.content.trim() !== "") kept.unshift(one);
  }
  return kept;
}

export const chatEndpoints: MountedEndpoint[] = [chat];
