import * as z from "zod";
import type { Variable } from "../../convex/lib/env";
import { failureOf } from "../../convex/lib/errors";
import { parseJson } from "../json";
import { lastAnswer, type Exchange } from "./recording/exchanges";
import { fault, warning, type Finding } from "./finding";

/** The meaning of a failed question, by the exchange, and which variable to change. */

type Place = {
  key?: Variable;
  address: Variable;
  model?: Variable;
  /** The meaning of a 403, if it is not only about the key. */
  forbidden?: string;
};

const KEYS_PLACE = "where the provider keeps its keys";

const PLACES: Record<string, Place> = {
  "LLM gateway": { key: "LLM_GATEWAY_API_KEY", address: "LLM_ENDPOINT", model: "LLM_MODEL" },
  "agent API": {
    key: "LLM_GATEWAY_API_KEY",
    address: "AGENT_API_URL",
    forbidden: `Switch the agent API on for the key in LLM_GATEWAY_API_KEY, and allow this machine's and the deployment's addresses, ${KEYS_PLACE}: it takes the gateway's key, but not every key has it.`,
  },
  "sentiment model": { key: "SENTIMENT_API_KEY", address: "SENTIMENT_ENDPOINT", model: "SENTIMENT_MODEL" },
  messenger: { key: "MESSENGER_BOT_TOKEN", address: "MESSENGER_API_URL" },
  "swap provider": { key: "SWAP_API_KEY", address: "SWAP_API_URL" },
  tickers: { address: "TICKER_API_URL" },
};

type Answer = Extract<Exchange["answer"], { kind: "answer" }>;

/** @param now Epoch ms of the question. */
export function findingOf(subject: string, error: unknown, now: number): Finding {
  const place = PLACES[subject];
  const address = place?.address ?? "the address";
  const elsewhere = `See whether ${address} is right, and whether this machine may call it.`;
  const answer = lastAnswer();
  if (answer === null) return fault(subject, failureOf(error)?.message ?? "could not be reached", elsewhere);
  if (answer.kind === "timeout") return fault(subject, "did not answer in time", elsewhere);
  if (answer.kind === "unreachable") return fault(subject, "could not be reached", elsewhere);
  const refusal = place === undefined ? null : refusalOf(subject, place, answer, now);
  if (refusal !== null) return refusal;
  const failure = failureOf(error);
  if (failure?.code === "invalid_request") return warning(subject, failure.message, "Try again later.");
  return fault(
    subject,
    `answered with status ${answer.status}, but not in the form of its protocol`,
    `Check ${address}; npm run doctor -- --record DIR stores the answer.`,
  );
}

function refusalOf(subject: string, place: Place, answer: Answer, now: number): Finding | null {
  const { key = "its key", address, model, forbidden } = place;
  const { status } = answer;
  if (status === 400 && subject === "sentiment model") {
    const remedy = `Check ${key} and ${model ?? address}: it refuses a wrong key in the same way.`;
    return fault(subject, "refuses the request or the key (400)", remedy);
  }
  if (status === 401) {
    const remedy = `Set ${key} to a key that it knows: this one belongs elsewhere, or was withdrawn.`;
    return fault(subject, "refuses the key (401)", remedy);
  }
  if (status === 403) {
    const remedy =
      forbidden ?? `Allow this use of the key in ${key} ${KEYS_PLACE}, or set ${key} to another key.`;
    return fault(subject, "refuses the key, or this use of it (403)", remedy);
  }
  if (status === 402) {
    return fault(subject, "has no credits left (402)", `Top up the account that ${key} belongs to.`);
  }
  if (status === 404) {
    return fault(subject, "does not know the address (404)", `Set ${address} to the right address.`);
  }
  if (status === 410) {
    const where = model === undefined ? address : `${model}, or ${address},`;
    const remedy = `Set ${where} to the name in its current documents; otherwise this service has to be updated.`;
    return fault(subject, "no longer offers what was asked (410)", remedy);
  }
  if (status === 429) return limited(subject, key, answer, now);
  if (status >= 500) {
    const remedy = `Wait, or see its status page; ${address} should point to the provider itself.`;
    return fault(subject, `is failing (${status})`, remedy);
  }
  return null;
}

/** The agent API gives the time in ms, the messenger the wait in seconds, others use a header. */
const limitShape = z.object({
  resetAt: z.number().positive().optional(),
  parameters: z.object({ retry_after: z.number().positive() }).optional(),
});

function limited(subject: string, key: string, { headers, body }: Answer, now: number): Finding {
  const { resetAt, parameters } = limitShape.safeParse(parseJson(body)).data ?? {};
  const seconds = parameters?.retry_after ?? Number(headers["retry-after"] ?? Number.NaN);
  const until = resetAt ?? now + seconds * 1000;
  const says = "is limiting requests (429)";
  if (!Number.isFinite(until) || until <= now || until > now + 366 * 86_400_000) {
    return warning(subject, says, "Try again in a minute.");
  }
  const at = `${new Date(until).toISOString().slice(0, "2026-01-01T00:00:00".length)}Z`;
  return warning(
    subject,
    `${says}: the limit is used up until ${at}`,
    `Try again then, or raise the limit of the account that ${key} belongs to.`,
  );
}

/** A ticker's own words about a failure, to follow its name. */
export function tickerTrouble(answer: Exchange["answer"] | null): string {
  if (answer === null) return "could not be reached";
  if (answer.kind === "timeout") return "did not answer in time";
  if (answer.kind === "unreachable") return "could not be reached";
  const { status } = answer;
  if (status === 429) return "is limiting requests (429)";
  if ([401, 403, 418, 451].includes(status)) return `refuses this machine (${status})`;
  if (status >= 500) return `is failing (${status})`;
  return status === 200 ? "returns no usable price" : `answered with status ${status}`;
}
