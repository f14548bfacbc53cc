import type { Address, Hex } from "viem";
import type * as z from "zod";

/** The world of a row: the service over HTTP, and its surroundings where they exist. */

/** The needs of rows besides HTTP. */
export type Need = "standins" | "chain" | "time" | "people" | "settings" | "market" | "deadlines" | "proxy";

/** A request that a provider's stand-in was sent; of the messenger, a message that it accepted. */
type SentRequest = {
  path: string;
  at: number;
  body: unknown;
  query: Record<string, string>;
  schema: string;
};
type SentMessage = { botToken: string; method: string; chatId: string; text: string; at: number };

/** A signed-in person's web application. */
type Person = {
  query: (name: string, args?: Record<string, unknown>) => Promise<unknown>;
  mutation: (name: string, args?: Record<string, unknown>) => Promise<unknown>;
  action: (name: string, args?: Record<string, unknown>) => Promise<unknown>;
  /** The service over HTTP with that person's token. */
  service: Service;
};

type Awaitable<T> = T | Promise<T>;

export type World = Service & {
  /** The reason why rows with this need cannot be checked here. */
  lacks: Partial<Record<Need, string>>;
  /** The client's name, as short as the contract allows. */
  user: string;
  /** An unused userId. */
  fresh: () => string;
  /** The requests to a provider since the world began, oldest first. */
  sent: (provider: string) => Awaitable<SentRequest[]>;
  cards: () => Awaitable<SentMessage[]>;
  /** Makes a stand-in fail, or clears its faults. */
  control: (message: Record<string, unknown>) => Promise<void>;
  rpc: (method: string, params: readonly unknown[]) => Promise<unknown>;
  /** The key of an account with ether and dollars. */
  payerKey: () => Hex;
  /** Advances the service's time. */
  advance: (ms: number) => Promise<void>;
  /** Advances the time while no job starts, as in an outage: hours of it are cheap. */
  outage: (ms: number) => Promise<void>;
  now: () => Awaitable<number>;
  /** Lets running work continue for a moment. */
  rest: () => Promise<void>;
  /** The service as another network address reaches it. */
  from: (ip: string) => Service;
  socialSecret: () => string;
  as: (subject: string) => Awaitable<Person>;
  /** Sets the service's variables; `null` leaves one out. */
  configure: (variables: Record<string, string | null>) => Awaitable<void>;
  /** From this minute on the market has these prices. */
  setPrices: (prices: Record<string, number>) => Awaitable<void>;
  /** The built proxy, and the address of its service. */
  proxy: () => Awaitable<{ file: string; serviceUrl: string }>;
};

export const USDC: Address = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** One answer of the service, with its readers. */
export type Answer = {
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

/** The service as a plain HTTP client sees it. */
export type Service = {
  get: (path: string, query?: Readonly<Record<string, string>>) => Promise<Answer>;
  post: (path: string, body: Body, headers?: Readonly<Record<string, string>>) => Promise<Answer>;
  send: (method: string, path: string, init?: RequestInit) => Promise<Answer>;
};
