/**
 * Stand-ins for the outside providers, for local use and for tests: they speak the providers' wire protocols, show a
 * simulated market, record the requests, and fail on command.
 */

import * as z from "zod";
import { parseJson } from "../json";
import { findForeignOrigin } from "../sockets";
import { createAgentApi } from "./agentApi";
import { answerWith, control, createFaults, PROVIDERS, type Provider } from "./faults";
import { type Fault, type Standin } from "./standin";
import { sendJson, findProblem, type Call } from "./http";
import { getRequestedSchema, createLlm } from "./llm";
import { createMarket, type Market } from "./market";
import { createMessenger, type SentMessage } from "./messenger";
import { createSentiment } from "./sentiment";
import { createSources, isSource, findSource, type Source } from "./sources";
import { createSwap } from "./swap";

export type { Provider } from "./faults";
export type { Fault } from "./standin";

type SentRequest = {
  method: string;
  path: string;
  /** The query, if there was one. */
  query?: Record<string, string>;
  /** The JSON body; the text if it is not JSON; `null` without one. */
  body: unknown;
  /** Epoch ms of the stand-ins' clock. */
  at: number;
  /** Gateway only: the name of the requested schema. */
  schema?: string;
};

/** The requests to a provider, oldest first; for the messenger, the messages that it accepted. */
type Sent = {
  (provider: "messenger"): SentMessage[];
  (provider: Exclude<Provider, "messenger">): SentRequest[];
};

export type Standins = {
  /** The simulated market that all of them show. */
  market: Market;
  /** Answers a request as the network would; rejects if the connection is to fail. */
  handle: (request: Request) => Promise<Response>;
  /** Queues a fault: a provider's first fault that fits a request applies to it. @throws TypeError if it cannot. */
  fail: (provider: Provider, fault: Fault) => void;
  /** Removes the faults of one provider, or of all. */
  clear: (provider?: Provider) => void;
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

/** How many requests to a provider are kept. */
const KEPT = 5_000;

export type StandinsOptions = {
  /** The seed of the simulated market. */
  seed?: string;
  /** The stand-ins' clock, in epoch ms; faults wait by the timers of the process. */
  now?: () => number;
  /** The local chain's RPC, `null` while there is none: without one the swap provider fails. */
  rpcUrl?: () => string | null;
  /** For their questions to it. */
  fetch?: typeof fetch;
  /** Sends a messenger update to the application's webhook; without it the bot gets no messages. */
  deliver?: (update: unknown) => Promise<Response>;
};

export function createStandins(options: StandinsOptions = {}): Standins {
  const { seed = "local", now = () => Date.now(), rpcUrl = () => null, deliver, fetch } = options;
  const market = createMarket({ seed, now });
  const scene = { seed, now, market };
  const faults = createFaults();
  const messages: SentMessage[] = [];
  const requests = new Map<Provider, SentRequest[]>();

  const messenger = createMessenger({ now, deliver, accepted: (message) => keep(messages, message) });
  const sources = createSources(scene);
  const standins: Record<Exclude<Provider, Source>, Standin> = {
    llm: createLlm(scene),
    agent: createAgentApi(scene),
    sentiment: createSentiment(scene),
    messenger,
    swap: createSwap({ now, rpcUrl, fetch }),
  };

  const serve = (provider: Provider, call: Call, signal: AbortSignal): Promise<Response> => {
    const { method, path, query } = call;
    const body = call.body === "" ? null : (parseJson(call.body) ?? call.body);
    const schemaName = provider === "llm" ? getRequestedSchema(body) : undefined;
    if (provider !== "messenger") {
      const list = requests.get(provider) ?? [];
      requests.set(provider, list);
      keep(list, {
        ...{ method, path, body, at: now() },
        ...(query.size === 0 ? {} : { query: Object.fromEntries(query) }),
        ...(schemaName === undefined || schemaName === "chat" ? {} : { schema: schemaName }),
      });
    }
    const standin = isSource(provider) ? sources(provider) : standins[provider];
    return answerWith(standin, call, faults.take(provider, path, schemaName), signal);
  };

  function sent(provider: "messenger"): SentMessage[];
  function sent(provider: Exclude<Provider, "messenger">): SentRequest[];
  function sent(provider: Provider): SentMessage[] | SentRequest[];
  function sent(provider: Provider) {
    return [...(provider === "messenger" ? messages : (requests.get(provider) ?? []))];
  }

  const handleControl = async (path: string, call: Call): Promise<Response> => {
    const route = `${call.method} ${path}`;
    const parseCallBody = () => parseJson(call.body);
    if (route === "POST /_control") return carriedOut(() => control(faults, parseCallBody()));
    if (route === "POST /_control/messenger/say") return carriedOut(() => messenger.say(parseCallBody()));
    if (route === "POST /_control/messenger/tap") return carriedOut(() => messenger.tap(parseCallBody()));
    if (route === "POST /_control/messenger/member")
      return carriedOut(() => messenger.setMember(parseCallBody()));
    const picture = messenger.picture(
      Number(/^GET \/_sent\/messenger\/pictures\/(\d+)\.png$/.exec(route)?.[1]),
    );
    if (picture !== null) return new Response(picture, { headers: { "Content-Type": "image/png" } });
    const provider = PROVIDERS.find((one) => route === `GET /_sent/${one}`);
    if (provider !== undefined) return sendJson(sent(provider));
    return sendJson({ error: `The stand-ins have nothing at ${route}` }, 404);
  };

  return {
    market,
    handle: async (request) => {
      request.signal.throwIfAborted();
      const foreignOrigin = findForeignOrigin(request);
      if (foreignOrigin !== null) return sendJson({ error: foreignOrigin }, 403);
      const { pathname, searchParams: query } = new URL(request.url);
      const [, area = "", path = ""] = /^\/([^/]*)(.*)$/.exec(pathname) ?? [];
      const bytes = await request.arrayBuffer();
      const { method, headers } = request;
      const call = { method, path, query, headers, bytes, body: new TextDecoder().decode(bytes) };
      const provider = area === "evidence" ? findSource(path) : PREFIXES.get(area);
      if (provider === undefined) return handleControl(pathname, call);
      const answer = await serve(provider, call, request.signal);
      // Keeps the request alive: a garbage-collected request's signal never fires.
      request.signal.throwIfAborted();
      return answer;
    },
    fail: faults.add,
    clear: faults.clear,
    sent,
    forget: () => {
      messages.length = 0;
      requests.clear();
    },
    env: standinEnv,
  };
}

function keep<Item>(list: Item[], item: Item): void {
  list.push(item);
  if (list.length > KEPT) list.shift();
}

async function carriedOut(work: () => object | void | Promise<object>): Promise<Response> {
  try {
    return sendJson({ ok: true, ...(await work()) });
  } catch (error) {
    if (error instanceof z.ZodError) return sendJson({ error: findProblem(error) }, 400);
    if (error instanceof TypeError) return sendJson({ error: error.message }, 400);
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
