import * as z from "zod";
import { Differs, require } from "./row";

/** The service as a plain HTTP client sees it. */

const TIMEOUT_MS = 60_000;
/** Longer texts are cut in the report. */
const SHOWN = 160;

type Answer = {
  status: number;
  headers: Headers;
  /** The answer's text, unchanged. */
  text: string;
  /** The body in a shape. @throws Differs for another status or shape. */
  as: <Shape extends z.ZodType>(shape: Shape, status?: number) => z.output<Shape>;
  /** The body as the contract's error. @throws Differs for another status or form. */
  error: (...statuses: readonly number[]) => string;
};

type Body = Readonly<Record<string, unknown>>;

export type Service = {
  base: string;
  get: (path: string, query?: Readonly<Record<string, string>>) => Promise<Answer>;
  post: (path: string, body: Body, headers?: Readonly<Record<string, string>>) => Promise<Answer>;
  send: (method: string, path: string, init?: RequestInit) => Promise<Answer>;
};

const errorShape = z.object({ error: z.string().min(1) });

/** @param address The service's base address; a final slash does not matter. */
export function createService(address: string): Service {
  const base = address.replace(/\/+$/, "");
  const send = async (method: string, path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(`${base}${path}`, {
      ...init,
      method,
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return answerOf(response, await response.text());
  };
  return {
    base,
    send,
    get: (path, query = {}) => {
      const asked = new URLSearchParams(query).toString();
      return send("GET", asked === "" ? path : `${path}?${asked}`);
    },
    post: (path, body, headers = {}) =>
      send("POST", path, {
        headers: { "Content-Type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
  };
}

function answerOf({ status, headers }: Response, text: string): Answer {
  const body = () => {
    require(headers.get("content-type")?.startsWith("application/json") ===
      true, `The answer is ${headers.get("content-type") ?? "untyped"}, not JSON`);
    require(headers.get("access-control-allow-origin") === "*", "Access-Control-Allow-Origin is not *");
    return parsed(text);
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
    return as(errorShape, status).error;
  };
  return { status, headers, text, as, error };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Differs(`The body is not JSON: ${cut(text)}`);
  }
}

function cut(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}…`;
}
