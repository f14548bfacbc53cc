import * as z from "zod";
import { internal } from "../_generated/api";
import { refuseCrowd, waitingAs } from "../lib/crowd";
import { AppError } from "../lib/errors";
import { USER_TOKEN } from "../lib/headers";
import { endpoint, type MountedEndpoint } from "../lib/http";
import { absentWhenEmpty, atMost, text, userId } from "../lib/input";
import { agentNamed, DEFAULT_AGENT } from "./agents";
import { lastTurns } from "./turns";

const turn = z.object({
  role: z.enum(["user", "assistant"], "must be user or assistant"),
  content: z.string("must be a string"),
});

const chat: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/mcp/chat",
  summary: "Chat with a named agent, with live market context.",
  description:
    "Nothing of the conversation is kept: send earlier turns along in `messages`; of a longer history the last turns that fit into 24,000 characters are used. Answers within 28 seconds. A request for a private key or seed phrase gets a fixed security message and reaches no model.",
  needs: ["LLM_GATEWAY_API_KEY"],
  limit: "chat",
  headers: USER_TOKEN,
  errors: {
    not_found: "There is no agent of this name.",
    upstream: "The LLM gateway failed or did not answer in time.",
  },
  example: {
    input: {
      question: "What moved the market today?",
      agentId: "news-default",
      messages: [{ role: "user", content: "I hold BTC and ETH." }],
    },
    output: {
      answer: "Bitcoin leads with 1.4 % on steady inflows; Ethereum is slightly lower.",
      agentId: "news-default",
      model: "claude-haiku-4.5",
    },
  },
  input: z.object({
    question: text(8_000).describe("What to ask, at most 8000 characters."),
    agentId: absentWhenEmpty(atMost(64).trim()).describe(
      "primary-default (the default), news-default or marketdata-default. Earlier clients say noel-default for the first and coingecko-default for the last.",
    ),
    messages: absentWhenEmpty(z.array(turn, "must be an array of turns")).describe(
      "Earlier turns, oldest first.",
    ),
    userId: absentWhenEmpty(userId),
  }),
  returns: z.object({
    answer: z.string(),
    agentId: z.string().describe("The agent that answered, by the name it was asked for"),
    model: z.string().describe("The model that answered; none when no model was asked"),
  }),
  handler: async (ctx, { question, agentId = DEFAULT_AGENT, messages = [], userId }, { caller }) => {
    const agent = agentNamed(agentId);
    if (agent === null) throw new AppError("not_found", `There is no agent named ${agentId}`);
    const { asksForKey, SECURITY_MESSAGE } = await import("../lib/keyRequests");
    if (asksForKey(question)) return { answer: SECURITY_MESSAGE, agentId, model: "none" };
    const id = userId ?? null;
    const { answer: reply } = await import("./replies");
    const asked = {
      agentId: agent,
      question,
      messages: lastTurns(messages),
      caller,
      personal: await ctx.runQuery(internal.users.access.speaksFor, { userId: id }),
      proven: await ctx.runQuery(internal.users.access.provesToBe, { userId: id }),
    };
    const { answer, model } = await waitingAs(ctx, caller, () => reply(ctx, asked), refuseCrowd);
    return { answer, agentId, model };
  },
});

export const chatEndpoints: MountedEndpoint[] = [chat];
