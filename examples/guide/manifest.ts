/**
 * Which example shows what the guides show. `outline.txt` lists what is in them; a key here is a line of it and the
 * number of a block in that line, 0 for a line without blocks. Several examples where a block shows several things; one
 * example for several languages where they show the same, and its comment says where they differ.
 */
export const manifest: Readonly<Record<string, readonly string[]>> = {
  'zh-TW introduction 0': ['codecTools', 'approval'],

  'zh-TW basic-use Python 1': ['codecTools'],
  'zh-TW basic-use TypeScript 1': ['zodTools'],
  'zh-TW basic-use TypeScript 2': ['jsonSchemaTools'],
  'zh-TW basic-use C# 1': ['definitions'],
  'zh-TW basic-use Go 1': ['optionalFields'],
  'zh-TW basic-use Go 2': ['optionalFields'],
  'zh-TW basic-use Java 1': ['strictTools'],
  'zh-TW basic-use Java 2': ['strictTools'],
  'zh-TW basic-use PHP 1': ['definitions'],
  'zh-TW basic-use Ruby 1': ['classTools'],

  'zh-TW iterating Python 1': ['finalMessage', 'limits'],
  'zh-TW iterating TypeScript 1': ['finalMessage', 'limits'],
  'zh-TW iterating C# 1': ['finalMessage', 'limits'],
  'zh-TW iterating Go 1': ['finalMessage', 'limits'],
  'zh-TW iterating Java 1': ['lastTurn', 'limits'],
  'zh-TW iterating PHP 1': ['finalMessage', 'limits'],
  'zh-TW iterating Ruby 1': ['allMessages', 'limits'],

  'zh-TW advanced - 1': ['lifecycle'],

  'zh-TW taking-over-message-history Python 1': ['followUp', 'ownHistory'],
  'zh-TW taking-over-message-history Python 2': ['changeParams'],
  'zh-TW taking-over-message-history TypeScript 1': ['retryOnMaxTokens'],
  'zh-TW taking-over-message-history C# 1': ['followUp', 'ownHistory'],
  'zh-TW taking-over-message-history Go 1': ['forAwait', 'changeParams'],
  'zh-TW taking-over-message-history Java 1': ['retryOnMaxTokens'],
  'zh-TW taking-over-message-history PHP 1': ['retryOnMaxTokens'],
  'zh-TW taking-over-message-history Ruby 1': ['stepping', 'forAwait'],

  'zh-TW automatic-context-management 0': ['serverCompaction', 'summarizeHistory', 'compactOnDemand'],

  'zh-TW debugging - 1': ['logging'],

  'zh-TW intercepting-tool-errors Python 1': ['stopOnToolError', 'logToolErrors'],
  'zh-TW intercepting-tool-errors TypeScript 1': ['stopOnToolError', 'logToolErrors'],
  'zh-TW intercepting-tool-errors C# 1': ['toolError'],
  'zh-TW intercepting-tool-errors Go 0': ['errorAsResult'],
  'zh-TW intercepting-tool-errors Java 0': ['errorAsResult'],
  'zh-TW intercepting-tool-errors PHP 0': ['replaceToolErrors'],
  'zh-TW intercepting-tool-errors Ruby 1': ['stopOnToolError', 'logToolErrors'],

  'zh-TW modifying-tool-results Python 1': ['mapToolResults', 'cacheToolResults'],
  'zh-TW modifying-tool-results TypeScript 1': ['mapToolResults', 'cacheToolResults'],
  'zh-TW modifying-tool-results C# 0': ['mapToolResults'],
  'zh-TW modifying-tool-results Go 1': ['cacheInnerBlock'],
  'zh-TW modifying-tool-results Java 1': ['cacheInnerBlock'],
  'zh-TW modifying-tool-results PHP 1': ['mapToolResults', 'ownHistory'],
  'zh-TW modifying-tool-results Ruby 1': ['mapToolResults', 'cacheToolResults'],

  'zh-TW streaming Python 1': ['streamEvents'],
  'zh-TW streaming TypeScript 1': ['streamEvents'],
  'zh-TW streaming C# 1': ['streamText'],
  'zh-TW streaming Go 1': ['streamTextAndInput', 'streamInputs'],
  'zh-TW streaming Java 1': ['streamEvents'],
  'zh-TW streaming PHP 0': ['streamText'],
  'zh-TW streaming Ruby 1': ['streamTextAndInput', 'streamInputs'],

  'zh-TW next-steps = 1': ['strictTools'],
  'zh-TW next-steps = 2': ['ownHistory', 'toolError'],
  'zh-TW next-steps = 3': ['parallelTools'],
  'zh-TW next-steps = 4': ['codecTools', 'zodTools', 'jsonSchemaTools', 'classTools'],

  'zh-CN introduction 0': ['codecTools', 'approval'],
  'zh-CN basic-use 0': ['codecTools', 'optionalFields'],
  'zh-CN iterating 0': ['limits', 'finalMessage'],
  'zh-CN advanced 0': ['lifecycle'],
  'zh-CN taking-over-message-history 0': ['ownHistory', 'followUp', 'retryOnMaxTokens'],
  'zh-CN automatic-context-management 0': ['serverCompaction', 'summarizeHistory'],
  'zh-CN debugging - 1': ['logging'],
  'zh-CN intercepting-tool-errors 0': ['stopOnToolError', 'logToolErrors', 'toolError'],
  'zh-CN modifying-tool-results 0': ['mapToolResults', 'cacheToolResults', 'cacheInnerBlock'],
  'zh-CN streaming 0': ['streamEvents'],
  'zh-CN next-steps 0': ['strictTools', 'parallelTools'],
};
