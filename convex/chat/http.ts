import * as z from "zod";
import {
  publicSource,
  toPublicSources,
  optionalUnlessBlank,
  maxLengthString,
  optionalUserId,
  requiredText,
} from "../platform/http/input";
import { toBillingSubject } from "../platform/limits/callers";
import { holdSlot } from "../platform/limits/slots";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { resultExample } from "../research/views";
import { findAgent, DEFAULT_AGENT } from "./agents";
import { takeLastTurns } from "./runs";

const turnShape = z.object(
  {
    role: z.enum(["user", "assistant"], "must be user or assistant"),
    content: z.string("must be a string"),
  },
  "must be an object with role and content",
);

const chat: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: "/mcp/chat",
  summary: "Chat with a named agent, with live market context.",
  description:
    "The conversation is not stored: send earlier turns in `messages`, of which the last 24,000 characters are used. Answers within 28 seconds. Each figure comes from a cited fact, or is marked `[model]`. A question that the model declines, that its filter refuses or that is too long for it, is a 400 that says so. A request for a private key gets a fixed security message, and no model is asked.",
  needs: ["LLM_GATEWAY_API_KEY"],
  access: "shown",
  errors: {
    not_found: "There is no agent of this name.",
    rate_limited: "This caller has asked too many questions, or too many of theirs wait for an answer.",
    upstream: "The LLM gateway failed or did not answer in time.",
  },
  example: {
    input: { question: "What moved the market today?" },
    output: {
      answer: "Bitcoin trades at $97,250.50 [1]; Ethereum is slightly lower.\n\nSources: [1] CoinGecko",
      agentId: "primary-default",
      model: "claude-haiku-4.5",
      sources: resultExample.sources,
    },
  },
  input: z.object({
    question: requiredText(8_000).describe("What to ask, at most 8000 characters."),
    agentId: optionalUnlessBlank(maxLengthString(64).trim()).describe(
      "primary-default (the default), news-default or marketdata-default. Earlier clients say noel-default for the first and coingecko-default for the last.",
    ),
    messages: optionalUnlessBlank(z.array(turnShape, "must be an array of turns")).describe(
      "Earlier turns, oldest first.",
    ),
    userId: optionalUserId,
  }),
  returns: z.object({
    answer: z.string(),
    agentId: z.string().describe("The agent that answered, by the name in the request"),
    model: z.string().describe("The model that answered; none when no model was asked"),
    sources: z.array(publicSource).describe("The facts that the answer cites"),
  }),
  handler: async (ctx, { question, agentId: requestedAgent, messages = [], userId }, { caller }) => {
    const agentId = findAgent(requestedAgent ?? DEFAULT_AGENT);
    const { isKeyRequest, SECURITY_MESSAGE } = await import("../lib/keyRequests");
    if (isKeyRequest(question)) return { answer: SECURITY_MESSAGE, agentId, model: "none", sources: [] };
    const { answerChat: reply } = await import("./replies");
    const chatQuestion = {
      agentId,
      question,
      messages: takeLastTurns(messages),
      caller,
      personal: userId !== undefined && caller.credential !== "id" && caller.credential !== "key",
    };
    const { answer, model, sources } = await holdSlot(ctx, caller, () => reply(ctx, chatQuestion), {
      limit: "question",
      billTo: toBillingSubject(caller),
    });
    return { answer, agentId, model, sources: toPublicSources(sources) };
  },
});

export const chatEndpoints: MountedEndpoint[] = [chat];
