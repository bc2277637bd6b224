import {
  HttpErrorResponse,
  HttpEventType,
  HttpHeaders,
  HttpRequest,
  type HttpClient,
  type HttpDownloadProgressEvent,
  type HttpEvent,
  type HttpHeaderResponse,
  type HttpResponse,
} from '@angular/common/http';
import {
  catchError,
  concatMap,
  defer,
  EMPTY,
  last,
  map,
  of,
  ReplaySubject,
  scan,
  share,
  take,
  type Observable,
  type OperatorFunction,
} from 'rxjs';
import type { Fetch, FetchResponse } from '../sources';

/** Events that tell of the answer; those before it tell of the request. */
type Answer = HttpHeaderResponse | HttpDownloadProgressEvent | HttpResponse<unknown> | HttpErrorResponse;

/**
 * What of the events is the answer. A refusal is one when it comes as the error that it ends in, and not by its headers or
 * the progress of its body: an interceptor may yet send the request again.
 */
const answers = (events$: Observable<HttpEvent<unknown>>): Observable<Answer> =>
  defer(() => {
    let refused = false;
    return events$.pipe(
      concatMap((event): Observable<Answer> => {
        switch (event.type) {
          case HttpEventType.Response:
            return of(event);
          case HttpEventType.ResponseHeader:
            refused = !event.ok;
            return refused ? EMPTY : of(event);
          case HttpEventType.DownloadProgress:
            return refused ? EMPTY : of(event);
          default:
            return EMPTY;
        }
      }),
    );
  });

/** Interceptors may read what comes as text, or answer by themselves with what that would be. */
const textOfBody = (body: unknown): string =>
  typeof body === 'string' ? body : body === null || body === undefined ? '' : JSON.stringify(body);

/** The text of the body so far: each event tells it from the start. */
const textOf = (answer: Answer): string => {
  if (answer instanceof HttpErrorResponse) return textOfBody(answer.error);
  if (answer.type === HttpEventType.DownloadProgress) return answer.partialText ?? '';
  return answer.type === HttpEventType.Response ? textOfBody(answer.body) : '';
};

/** The cause is more telling than "Http failure response for ...: 0 Unknown Error". */
const failure = (response: HttpErrorResponse): Error =>
  response.error instanceof Error ? response.error : new Error(response.message);

/** What is new in each text, where each begins with the one before it. */
const growth: OperatorFunction<string, string> = texts$ =>
  texts$.pipe(
    scan(
      (before, text) => {
        // The latest piece stands for the whole, which would take longer with each event.
        if (
          text.length < before.length ||
          !text.startsWith(before.chunk, before.length - before.chunk.length)
        ) {
          throw new Error(
            'the answer does not go on where it was: an interceptor has sent the request again',
          );
        }
        return { length: text.length, chunk: text.slice(before.length) };
      },
      { length: 0, chunk: '' },
    ),
    concatMap(({ chunk }) => (chunk === '' ? EMPTY : of(chunk))),
  );

/**
 * A fetch over an `HttpClient`, so that interceptors see the requests of `messagesApi`. The answer comes with its headers,
 * a refusal with its whole body; the body of an answer grows with the progress events. Unsubscribing from what is read of
 * it aborts the request.
 */
export const httpClientFetch =
  (http: HttpClient): Fetch =>
  (url, { method, headers, body }) =>
    defer(() => {
      const request = new HttpRequest<string>(method, url, body, {
        headers: new HttpHeaders(headers),
        responseType: 'text',
        reportProgress: true,
      });
      const answers$ = answers(http.request<unknown>(request)).pipe(
        catchError((error: unknown) => {
          // A refusal is an answer.
          if (!(error instanceof HttpErrorResponse)) throw error;
          if (error.status > 0) return of(error);
          throw failure(error);
        }),
        // The latest event is all there is to replay, since it tells the text from the start.
        share({ connector: () => new ReplaySubject<Answer>(1), resetOnComplete: false, resetOnError: false }),
      );
      return answers$.pipe(
        take(1),
        map((first): FetchResponse => {
          // Interceptors and caches may answer at once, with no event about headers before.
          const { status, headers: answered } =
            first instanceof HttpErrorResponse || first.type !== HttpEventType.DownloadProgress
              ? first
              : { status: 200, headers: new HttpHeaders() };
          const texts$ = answers$.pipe(
            map(answer => {
              // What was told to be a reply has become a refusal.
              if (answer !== first && answer instanceof HttpErrorResponse) throw failure(answer);
              return textOf(answer);
            }),
          );
          return {
            status,
            headers: answered,
            body: texts$.pipe(growth),
            text: () => texts$.pipe(last(() => true, '')),
          };
        }),
      );
    });
