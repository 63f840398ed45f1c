import type { SystemMessage } from "./messages.ts";
import type { ModelConfig, ProviderAdapter } from "./provider.ts";

/** One actor of a conversation: configuration only. What it does is decided by whoever runs it. */
export interface Participant {
  readonly name: string;
  readonly adapter: ProviderAdapter;
  readonly model: string;
  readonly systemPrompts?: readonly SystemMessage[];
  readonly modelConfig?: ModelConfig;
}
