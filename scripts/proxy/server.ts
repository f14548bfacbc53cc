import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type CallToolResult,
} from "@modelcontextprotocol/sdk/types.js";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import type { JsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";
import { inputAsksForKey, SECURITY_MESSAGE } from "../../convex/lib/keyRequests";
import type { BuiltIn, ObjectSchema } from "./interface";
import { withProgress, type RequestExtra } from "./progress";
import { callService, ServiceError } from "./service";
import type { Tool } from "./tool";

const INSTRUCTIONS = [
  "Crypto market data, research, trading signals, whale alerts and wallets on Base.",
  "A userId is the only credential and a bearer secret: choose a long random one per person (a UUID), keep it, use the same one in every call, and never show it to others. Losing it is losing what belongs to it.",
  "Amounts of tokens are whole numbers in the smallest unit, as strings: 1 USDC is 1000000, 1 ETH is 1000000000000000000.",
  "Ask the person before swap_tokens and send_token: they move real money and cannot be undone.",
  "Private keys and seed phrases are never shown by any tool.",
].join("\n");

type Input = Record<string, unknown>;

/** The tools over the protocol. Its input is forwarded as it is: the service alone judges it. */
export function createServer(builtIn: BuiltIn, serviceUrl: string, tools: readonly Tool[]): McpServer {
  const validator = new AjvJsonSchemaValidator();
  const server = new McpServer(
    {
      name: "market-research-signals-wallets",
      title: "Market research, signals and wallets",
      version: builtIn.version,
    },
    {
      instructions: INSTRUCTIONS,
      jsonSchemaValidator: validator,
    },
  );
  const operationOf = ({ name }: Tool) => {
    const operation = builtIn.operations[name];
    if (operation === undefined) throw new Error(`The build left ${name} out`);
    return operation;
  };
  const listed = tools.map((tool) => {
    const { name, title, description, hints } = tool;
    const { input, output } = operationOf(tool);
    return { name, title, description, inputSchema: input, outputSchema: output, annotations: hints };
  });
  const checks = new Map<string, JsonSchemaValidator<Input>>();
  const checkOf = (tool: Tool) => {
    const check = checks.get(tool.name) ?? validatorOf(validator, operationOf(tool).output);
    checks.set(tool.name, check);
    return check;
  };
  server.server.registerCapabilities({ tools: {} });
  server.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }));
  server.server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined)
      throw new McpError(ErrorCode.InvalidParams, `There is no tool named ${params.name}`);
    const input = params.arguments ?? {};
    if (inputAsksForKey(input)) return declined(tool, input);
    return answered(tool, input, { serviceUrl, extra, check: checkOf(tool) });
  });
  return server;
}

function validatorOf(validator: AjvJsonSchemaValidator, schema: ObjectSchema): JsonSchemaValidator<Input> {
  return validator.getValidator<Input>(schema);
}

type Surroundings = { serviceUrl: string; extra: RequestExtra; check: JsonSchemaValidator<Input> };

async function answered(
  tool: Tool,
  input: Input,
  { serviceUrl, extra, check }: Surroundings,
): Promise<CallToolResult> {
  const key = tool.repeats === "keyed" ? keyOf(input) : null;
  const call = callService({
    serviceUrl,
    ...tool.endpoint,
    input,
    idempotencyKey: key,
    repeatable: tool.repeats !== "unlessDelivered" || !isGiven(input.userId),
    timeoutMs: tool.timeoutMs,
    signal: extra.signal,
  });
  try {
    const answer = check(await withProgress(extra, call));
    if (!answer.valid) {
      throw new ServiceError(
        `The service's answer has an unexpected form: ${answer.errorMessage}.`,
        true,
        false,
      );
    }
    return { content: [{ type: "text", text: tool.text(answer.data) }], structuredContent: answer.data };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const doubt = error.inDoubt && key !== null ? ` ${inDoubt(key)}` : "";
    return failed(error.message + doubt);
  }
}

/** Of this call alone, unless the caller repeats an earlier one. */
function keyOf({ idempotencyKey }: Input): string {
  return typeof idempotencyKey === "string" && idempotencyKey.trim() !== ""
    ? idempotencyKey.trim()
    : crypto.randomUUID();
}

function inDoubt(key: string): string {
  return (
    "Whether it was carried out is not known. To find out, call again with the same input and " +
    `idempotencyKey "${key}": that returns the first outcome and never does it twice.`
  );
}

function declined(tool: Tool, input: Input): CallToolResult {
  const structuredContent = tool.declined?.(input);
  if (structuredContent === undefined) return failed(SECURITY_MESSAGE);
  return { content: [{ type: "text", text: SECURITY_MESSAGE }], structuredContent };
}

function failed(text: string): CallToolResult {
  return { isError: true, content: [{ type: "text", text }] };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}
