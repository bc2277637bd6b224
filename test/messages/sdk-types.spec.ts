import type Anthropic from '@anthropic-ai/sdk';
import { describe, expectTypeOf, it } from 'vitest';
import type {
  ContentBlock,
  ContentBlockDelta,
  ContentBlockParam,
  CustomToolDefinition,
  Message,
  MessageCreateParams,
  MessageParam,
  MessageStreamEvent,
  StopReason,
  TextBlock,
  ToolChoice,
  ToolDefinition,
  ToolResultBlockParam,
  ToolResultContent,
  ToolResultContentBlockParam,
  ToolUseBlock,
  Usage,
} from '../../src/messages';

type Sdk = {
  Message: Anthropic.Beta.BetaMessage;
  ContentBlock: Anthropic.Beta.BetaContentBlock;
  StopReason: Anthropic.Beta.BetaStopReason;
  Usage: Anthropic.Beta.BetaUsage;
  MessageParam: Anthropic.Beta.BetaMessageParam;
  ContentBlockParam: Anthropic.Beta.BetaContentBlockParam;
  ToolResultBlockParam: Anthropic.Beta.BetaToolResultBlockParam;
  ToolUnion: Anthropic.Beta.BetaToolUnion;
  ToolChoice: Anthropic.Beta.BetaToolChoice;
  Event: Anthropic.Beta.BetaRawMessageStreamEvent;
  Delta: Anthropic.Beta.BetaRawContentBlockDelta;
  Params: Anthropic.Beta.MessageCreateParams;
  NonStreaming: Anthropic.Beta.MessageCreateParamsNonStreaming;
};

/** The members of a union told apart by `type`: the tags that are in one and not in the other. */
type Tags<U extends { type?: string | null }> = NonNullable<U['type']>;

// These are checked by the compiler: `npx tsc --noEmit`.
describe("types beside the official SDK's", () => {
  it('takes what the SDK returns', () => {
    expectTypeOf<Sdk['Message']>().toExtend<Message>();
    expectTypeOf<Sdk['ContentBlock']>().toExtend<ContentBlock>();
    expectTypeOf<Sdk['Usage']>().toExtend<Usage>();
    expectTypeOf<Sdk['Event']>().toExtend<MessageStreamEvent>();
    expectTypeOf<Sdk['Delta']>().toExtend<ContentBlockDelta>();
  });

  it('gives what a function written for the SDK takes', () => {
    expectTypeOf<Message>().toExtend<Sdk['Message']>();
    expectTypeOf<ContentBlock>().toExtend<Sdk['ContentBlock']>();
    expectTypeOf<Usage>().toExtend<Sdk['Usage']>();
    expectTypeOf<MessageStreamEvent>().toExtend<Sdk['Event']>();
    expectTypeOf<ContentBlockDelta>().toExtend<Sdk['Delta']>();
  });

  it('takes the params that are written for the SDK', () => {
    expectTypeOf<Sdk['MessageParam']>().toExtend<MessageParam>();
    expectTypeOf<Sdk['ContentBlockParam']>().toExtend<ContentBlockParam>();
    expectTypeOf<Sdk['ToolResultBlockParam']>().toExtend<ToolResultBlockParam>();
    expectTypeOf<Sdk['ToolUnion']>().toExtend<ToolDefinition>();
    expectTypeOf<Sdk['ToolChoice']>().toExtend<ToolChoice>();
    expectTypeOf<Sdk['Params']>().toExtend<MessageCreateParams>();
    expectTypeOf<Sdk['NonStreaming']>().toExtend<MessageCreateParams>();
  });

  it('gives params that the SDK takes', () => {
    expectTypeOf<MessageParam>().toExtend<Sdk['MessageParam']>();
    expectTypeOf<ContentBlockParam>().toExtend<Sdk['ContentBlockParam']>();
    expectTypeOf<ToolResultBlockParam>().toExtend<Sdk['ToolResultBlockParam']>();
    expectTypeOf<ToolDefinition>().toExtend<Sdk['ToolUnion']>();
    expectTypeOf<ToolChoice>().toExtend<Sdk['ToolChoice']>();
    expectTypeOf<MessageCreateParams & { stream?: false }>().toExtend<Sdk['NonStreaming']>();
    expectTypeOf<MessageCreateParams & { stream: true }>().toExtend<Sdk['Params']>();
  });

  it('has no index signature for other params, since that would refuse those of the SDK', () => {
    type Open = MessageCreateParams & { [param: string]: unknown };
    expectTypeOf<Sdk['NonStreaming']>().not.toExtend<Open>();
  });

  it('knows the same kinds and the same fields', () => {
    expectTypeOf<Tags<ContentBlock>>().toEqualTypeOf<Tags<Sdk['ContentBlock']>>();
    expectTypeOf<Tags<ContentBlockParam>>().toEqualTypeOf<Tags<Sdk['ContentBlockParam']>>();
    expectTypeOf<Tags<ToolDefinition>>().toEqualTypeOf<Tags<Sdk['ToolUnion']>>();
    expectTypeOf<MessageStreamEvent['type']>().toEqualTypeOf<Sdk['Event']['type']>();
    expectTypeOf<ContentBlockDelta['type']>().toEqualTypeOf<Sdk['Delta']['type']>();
    expectTypeOf<StopReason>().toEqualTypeOf<Sdk['StopReason']>();
    expectTypeOf<keyof Message>().toEqualTypeOf<keyof Sdk['Message']>();
    expectTypeOf<keyof Usage>().toEqualTypeOf<keyof Sdk['Usage']>();
    expectTypeOf<keyof MessageCreateParams>().toEqualTypeOf<keyof Sdk['NonStreaming']>();
  });
});

describe('types by themselves', () => {
  it('a reply goes back as it is', () => {
    expectTypeOf<ContentBlock>().toExtend<ContentBlockParam>();
    expectTypeOf<Message>().toExtend<MessageParam>();
  });

  it('narrows a block by its type', () => {
    const read = (block: ContentBlock): string => {
      if (block.type === 'text') {
        expectTypeOf(block).toEqualTypeOf<TextBlock>();
        return block.text;
      }
      if (block.type === 'tool_use') {
        expectTypeOf(block).toEqualTypeOf<ToolUseBlock>();
        expectTypeOf(block.input).toBeUnknown();
        return block.name;
      }
      return block.type;
    };
    expectTypeOf(read).returns.toBeString();
  });

  it('narrows an event and its delta', () => {
    const text = (event: MessageStreamEvent): string =>
      event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '';
    expectTypeOf(text).returns.toBeString();
  });

  it('takes messages as one writes them', () => {
    const messages: MessageParam[] = [
      { role: 'user', content: 'What is the weather in Paris?' },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 't1', name: 'weather', input: { city: 'Paris' } }],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't1', content: '18 degrees' },
          { type: 'text', text: 'Go on.', cache_control: { type: 'ephemeral', ttl: '1h' } },
        ],
      },
      {
        role: 'system',
        content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'weather' } }],
      },
    ];
    expectTypeOf(messages).toExtend<MessageCreateParams['messages']>();

    const result: ToolResultContent = [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } },
    ];
    expectTypeOf(result).toExtend<ToolResultContent>();
    expectTypeOf<ToolResultContent>().toEqualTypeOf<string | ToolResultContentBlockParam[]>();
  });

  it('takes custom and server tools side by side', () => {
    const tools: ToolDefinition[] = [
      { name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } },
      { type: 'web_search_20260318', name: 'web_search', max_uses: 3, response_inclusion: 'excluded' },
      { type: 'mcp_toolset', mcp_server_name: 'files' },
    ];
    expectTypeOf(tools).toExtend<MessageCreateParams['tools']>();
    expectTypeOf<CustomToolDefinition>().toExtend<ToolDefinition>();
  });

  it('refuses what the API does not take', () => {
    // @ts-expect-error a result is no number
    const wrongResult: ToolResultContent = 3;
    // @ts-expect-error a response block is no tool result
    const wrongBlock: ToolResultContent = [{ type: 'thinking', thinking: '', signature: '' }];
    // @ts-expect-error the schema of an input describes an object
    const wrongTool: ToolDefinition = { name: 'weather', input_schema: { type: 'string' } };
    // @ts-expect-error params are checked for spelling
    const wrongParams: MessageCreateParams = { model: 'm', max_tokens: 1, messages: [], max_token: 2 };
    // @ts-expect-error absent and undefined are two things
    const wrongUndefined: MessageCreateParams = {
      model: 'm',
      max_tokens: 1,
      messages: [],
      system: undefined,
    };
    expectTypeOf([wrongResult, wrongBlock, wrongTool, wrongParams, wrongUndefined]).toBeArray();
  });
});
