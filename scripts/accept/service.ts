import * as z from "zod";
import { Differs, require } from "./row";
import type { Answer, Service } from "./world";

/** The service as a plain HTTP client sees it. */

const TIMEOUT_MS = 60_000;
/** The report cuts longer texts. */
const SHOWN = 160;

const errorShape = z.looseObject({ error: z.string().min(1) });

/** One HTTP exchange, over any transport. */
export type Exchange = (method: string, path: string, init: RequestInit) => Promise<Got>;
export type Got = { status: number; headers: Headers; text: string };

/** The service at an address; a final slash does not matter. */
export function overHttp(address: string, headers: Readonly<Record<string, string>> = {}): Exchange {
  const base = address.replace(/\/+$/, "");
  return async (method, path, init) => {
    const response = await fetch(`${base}${path}`, {
      ...init,
      headers: { ...headers, ...Object.fromEntries(new Headers(init.headers)) },
      method,
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
}

export function createService(exchange: Exchange): Service {
  const send = async (method: string, path: string, init: RequestInit = {}): Promise<Answer> =>
    readAnswer(await exchange(method, path, init));
  return {
    send,
    get: (path, query = {}) => {
      const queryText = new URLSearchParams(query).toString();
      return send("GET", queryText === "" ? path : `${path}?${queryText}`);
    },
    post: (path, body, headers = {}) =>
      send("POST", path, {
        headers: { "Content-Type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
  };
}

function readAnswer({ status, headers, text }: Got): Answer {
  const body = () => {
    require(headers.get("content-type")?.startsWith("application/json") ===
      true, `The answer is ${headers.get("content-type") ?? "untyped"}, not JSON`);
    require(headers.get("access-control-allow-origin") === "*", "Access-Control-Allow-Origin is not *");
    return parseAnswer(text);
  };
  const as: Answer["as"] = (shape, expected = 200) => {
    require(status === expected, `Status ${status}, not ${expected}: ${cut(text)}`);
    const result = shape.safeParse(body());
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    throw new Differs(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? "has another shape"}`);
  };
  const error: Answer["error"] = (...statuses) => {
    require(statuses.includes(status), `Status ${status}, not ${statuses.join(" or ")}: ${cut(text)}`);
    const { error: message, nothingMoved: _, ...more } = as(errorShape, status);
    // Payment terms and an order's status are fields beside the error; no other failure has any.
    if (![402, 403, 409].includes(status))
      require(Object.keys(more).length === 0, `Beside the error stands ${Object.keys(more).join(", ")}`);
    return message;
  };
  return { status, headers, text, as, error };
}

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Differs(`The body is not JSON: ${cut(text)}`);
  }
}

function cut(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}…`;
}
