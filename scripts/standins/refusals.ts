/** Part of the stand-ins for local use: answers to requests that are to be refused, in each provider's form. */

import { agentError } from "./agentApi";
import type { Fault, Provider } from "./control";
import { json, type Call } from "./http";
import { evidenceError } from "./sources/evidence";
import { llmError } from "./gateway/gateway";
import { messengerError } from "./messenger/api";
import { sentimentError } from "./sentiment";
import { swapError } from "./swap/api";
import { tickerError, tickerOf } from "./sources/tickers";

export function refusal(provider: Provider, fault: Extract<Fault, { mode: "status" }>, call: Call): Response {
  const body = fault.body === undefined ? usualBody(provider, fault, call) : fault.body;
  const headers = fault.retryAfter === undefined ? {} : { "Retry-After": String(fault.retryAfter) };
  return json(body, fault.status, headers);
}

const REASONS: Record<number, string> = {
  400: "Bad Request",
  401: "Unauthorized",
  402: "Payment Required",
  403: "Forbidden",
  404: "Not Found",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
};

function usualBody(
  provider: Provider,
  { status, retryAfter }: Extract<Fault, { mode: "status" }>,
  { path }: Call,
): unknown {
  const reason = REASONS[status] ?? `Error ${status}`;
  switch (provider) {
    case "llm":
      return llmError(reason);
    case "agent":
      return agentError(reason, `The stand-in was told to answer ${status}`);
    case "sentiment":
      return sentimentError(String(status), reason);
    case "messenger":
      return retryAfter === undefined
        ? messengerError(status, reason)
        : messengerError(status, `${reason}: retry after ${retryAfter}`, { retry_after: retryAfter });
    case "swap":
      return swapError(status, reason);
    case "tickers":
      return tickerError(tickerOf(path) ?? "coinbase", status, reason);
    default:
      return evidenceError(provider, status, reason);
  }
}
