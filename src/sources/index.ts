export { anthropicClient, type AnthropicClient } from './anthropicClient';
export {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  AuthenticationError,
  BadRequestError,
  ClientClosedRequestError,
  ConflictError,
  ContentTooLargeError,
  GatewayTimeoutError,
  InternalServerError,
  MalformedResponseError,
  NotFoundError,
  NotImplementedError,
  OverloadedError,
  PaymentRequiredError,
  PermissionDeniedError,
  RateLimitError,
  RequestTimeoutError,
  ServiceUnavailableError,
  TruncatedStreamError,
  UnprocessableEntityError,
  type APIErrorFields,
  type ResponseHeaders,
} from './errors';
export type { ApiKey } from './credentials';
export type { HeaderOptions } from './headers';
export type { MessageSource } from './messageSource';
export type { Fetch, FetchInit, FetchResponse } from './fetch';
export { messagesApi, type MessagesApiOptions } from './messagesApi';
export { scripted, type ScriptedReply, type ScriptedSource } from './scripted';
