/** Part of the stand-ins for local use: records of their requests, without keys. */

import type { Keyboard } from "./messenger/keyboard";
import type { Photo } from "./messenger/photo";
import { PROVIDERS, type Provider } from "./control";

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

/** A message, an edit or a chat action that the messenger accepted. */
export type SentMessage = {
  botToken: string;
  method: string;
  chatId: string;
  /** As sent, with markup: a picture's caption, or a chat action's name. */
  text: string;
  at: number;
  /** Absent for a chat action. */
  messageId?: number;
  photo?: Photo;
  /** Rows of buttons below it. */
  keyboard?: Keyboard;
};

const KEPT = 5_000;

export type Records = {
  request(provider: Exclude<Provider, "messenger">, request: SentRequest): void;
  message(message: SentMessage): void;
  sent: Sent;
  forget(): void;
};

/** The requests to a provider, oldest first. */
export type Sent = {
  (provider: "messenger"): SentMessage[];
  (provider: Exclude<Provider, "messenger">): SentRequest[];
  (provider: Provider): SentMessage[] | SentRequest[];
};

export function createRecords(): Records {
  const messages: SentMessage[] = [];
  const requests = new Map(PROVIDERS.map((provider) => [provider, new Array<SentRequest>()]));

  function sent(provider: "messenger"): SentMessage[];
  function sent(provider: Exclude<Provider, "messenger">): SentRequest[];
  function sent(provider: Provider): SentMessage[] | SentRequest[];
  function sent(provider: Provider) {
    return provider === "messenger" ? [...messages] : [...(requests.get(provider) ?? [])];
  }

  return {
    request: (provider, request) => {
      keep(requests.get(provider), request);
    },
    message: (message) => {
      keep(messages, message);
    },
    sent,
    forget: () => {
      messages.length = 0;
      for (const list of requests.values()) list.length = 0;
    },
  };
}

function keep<Item>(list: Item[] | undefined, item: Item): void {
  list?.push(item);
  if (list !== undefined && list.length > KEPT) list.shift();
}
