/**
 * Stand-ins for the outside providers, for local use and for tests: they speak the providers' wire protocols, show a
 * simulated market, record the requests, and fail on command.
 */

import * as z from "zod";
import { agentError, createAgentApi } from "./agentApi";
import { CHAT, control, createFaults, MODELS, PROVIDERS } from "./control";
import type { Fault, Provider, Standin } from "./control";
import { createEvidence, evidenceSourceOf, isEvidenceSource, type EvidenceSource } from "./sources/evidence";
import { json, problemOf, type Call } from "./http";
import { parseJson } from "../json";
import { createLlm, isFormatted, llmError, schemaOf } from "./gateway/gateway";
import { createMarket, type Market } from "./sources/market";
import { createMessenger, messengerRefusal } from "./messenger/api";
import { createRecords, type Sent } from "./records";
import { createSentiment, sentimentError } from "./sentiment";
import { delay, refusal, spoil } from "./spoilage";
import { createSwap, swapError } from "./swap/api";

export type { Fault, Provider } from "./control";

export type Standins = {
  /** The simulated market that all of them show. */
  market: Market;
  /** Answers a request as the network would; rejects if the connection is to fail. */
  handle: (request: Request) => Promise<Response>;
  /** Queues a fault: a provider's first fault that fits a request applies to it. @throws TypeError if it cannot. */
  fail: (provider: Provider, fault: Fault) => void;
  /** Removes the faults of one provider, or of all. */
  clear: (provider?: Provider) => void;
  /** The requests to a provider, oldest first; for the messenger, the messages it accepted. */
  sent: Sent;
  forget: () => void;
  /** The environment variables that point the application at stand-ins served at `base`. */
  env: (base: string) => Record<string, string>;
};

const PREFIXES = new Map<string, Provider>([
  ["llm", "llm"],
  ["agent-api", "agent"],
  ["sentiment", "sentiment"],
  ["messenger", "messenger"],
  ["swap-api", "swap"],
]);

export type StandinsOptions = {
  /** The seed of the simulated market. */
  seed?: string;
  /** The stand-ins' clock, in epoch ms; faults wait by the timers of the process. */
  now?: () => number;
  /** The local chain's RPC, `null` while there is none: without one the swap provider fails. */
  rpcUrl?: () => string | null;
  /** Sends a messenger update to the application's webhook; without it nobody can write to the bot. */
  deliver?: (update: unknown) => Promise<Response>;
};

export function createStandins(options: StandinsOptions = {}): Standins {
  const seed = options.seed ?? "local";
  const now = options.now ?? (() => Date.now());
  const market = createMarket({ seed, now });
  const faults = createFaults();
  const records = createRecords();

  const ofMarket = { seed, now, market };
  const messenger = createMessenger({
    now,
    accepted: (message) => {
      records.message(message);
    },
    ...(options.deliver === undefined ? {} : { deliver: options.deliver }),
  });
  const evidence = createEvidence(ofMarket);
  const standins: Record<Exclude<Provider, EvidenceSource>, Standin> = {
    llm: { ...createLlm(ofMarket), error: (_status, reason) => llmError(reason) },
    agent: {
      ...createAgentApi(ofMarket),
      error: (status, reason) => agentError(reason, `The stand-in was told to answer ${status}`),
    },
    sentiment: {
      ...createSentiment(ofMarket),
      error: (status, reason) => sentimentError(String(status), reason),
    },
    messenger: { handle: messenger.handle, error: messengerRefusal },
    swap: { ...createSwap({ now, rpcUrl: options.rpcUrl ?? (() => null) }), error: swapError },
  };
  const standinOf = (provider: Provider): Standin =>
    isEvidenceSource(provider) ? evidence(provider) : standins[provider];

  const serve = async (provider: Provider, call: Call, signal: AbortSignal): Promise<Response> => {
    const body = call.body === "" ? null : (parseJson(call.body) ?? call.body);
    const schema = provider === "llm" ? schemaOf(body) : undefined;
    if (provider !== "messenger") {
      const named = typeof schema === "string" ? { schema } : {};
      const query = call.query.size === 0 ? {} : { query: Object.fromEntries(call.query) };
      const { method, path } = call;
      records.request(provider, { method, path, ...query, body, at: now(), ...named });
    }
    const about = {
      path: call.path,
      schema: schema === null ? CHAT : schema,
      isFormatted: isFormatted(body),
    };
    const fault = faults.take(provider, about);
    const standin = standinOf(provider);
    if (fault?.mode === "status") return refusal(standin, fault, call);
    await delay(fault, signal);
    const right = await standin.handle(call, fault);
    // A model answers in its usual form, without content.
    const empty = fault?.mode === "empty" && !MODELS.includes(provider);
    return empty ? json({}) : spoil(fault, right);
  };

  const own = (area: string, rest: string, call: Call): Response | Promise<Response> => {
    if (area === "_market" && call.method === "GET") return json(market.coins());
    if (area === "_control" && rest === "/messenger/say" && call.method === "POST")
      return controlled(() => messenger.say(parseJson(call.body)));
    if (area === "_control" && rest === "/messenger/tap" && call.method === "POST")
      return controlled(() => messenger.tap(parseJson(call.body)));
    if (area === "_control" && rest === "" && call.method === "POST")
      return controlled(() => control(faults, parseJson(call.body)));
    const picture = area === "_sent" ? messenger.picture(rest.replace(/^\/messenger/, "")) : null;
    if (picture !== null) return new Response(picture, { headers: { "Content-Type": "image/png" } });
    const provider = PROVIDERS.find((one) => `/${one}` === rest);
    if (area === "_sent" && call.method === "GET" && provider !== undefined)
      return json(records.sent(provider));
    return json({ error: `The stand-ins have nothing at ${call.method} ${call.path}` }, 404);
  };

  return {
    market,
    handle: async (request) => {
      request.signal.throwIfAborted();
      const url = new URL(request.url);
      const [, area = "", rest = ""] = /^\/([^/]*)(.*)$/.exec(url.pathname) ?? [];
      const { method, headers } = request;
      const bytes = await request.arrayBuffer();
      const call = { method, query: url.searchParams, headers, bytes, body: new TextDecoder().decode(bytes) };
      const provider = area === "evidence" ? evidenceSourceOf(rest) : PREFIXES.get(area);
      if (provider === undefined) return own(area, rest, { ...call, path: url.pathname });
      const answer = await serve(provider, { ...call, path: rest }, request.signal);
      // Read again: a request that nobody holds is garbage-collected, and its signal then never fires.
      request.signal.throwIfAborted();
      return answer;
    },
    fail: (provider, fault) => {
      faults.add(provider, fault);
    },
    clear: (provider) => {
      faults.clear(provider);
    },
    sent: records.sent,
    forget: () => {
      records.forget();
    },
    env: standinEnv,
  };
}

async function controlled(work: () => object | void | Promise<object>): Promise<Response> {
  try {
    return json({ ok: true, ...(await work()) });
  } catch (error) {
    if (error instanceof z.ZodError) return json({ error: problemOf(error) }, 400);
    if (error instanceof TypeError) return json({ error: error.message }, 400);
    throw error;
  }
}

/** Keys that open nothing but the stand-ins. */
function standinEnv(base: string): Record<string, string> {
  return {
    LLM_ENDPOINT: `${base}/llm`,
    LLM_GATEWAY_API_KEY: "bk_simulated_local_only",
    AGENT_API_URL: `${base}/agent-api`,
    SENTIMENT_ENDPOINT: `${base}/sentiment/v1`,
    SENTIMENT_API_KEY: "xai-simulated-local-only",
    MESSENGER_API_URL: `${base}/messenger`,
    MESSENGER_BOT_TOKEN: "123456:AAE-simulated-local-only-0000000000",
    MESSENGER_CHAT_ID: "424242",
    MESSENGER_BOT_NAME: "simulated_123456_bot",
    SWAP_API_URL: `${base}/swap-api`,
    SWAP_API_KEY: "0x-simulated-local-only",
    EVIDENCE_API_URL: `${base}/evidence`,
  };
}
