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
  defer,
  EMPTY,
  last,
  map,
  mergeMap,
  of,
  ReplaySubject,
  scan,
  share,
  take,
  type Observable,
} from 'rxjs';
import type { Fetch, FetchResponse } from '../sources';

/** Events that tell of the answer; those before it tell of the request. */
type Answer = HttpHeaderResponse | HttpDownloadProgressEvent | HttpResponse<string> | HttpErrorResponse;

const isAnswer = (event: HttpEvent<string>): event is Exclude<Answer, HttpErrorResponse> =>
  event.type === HttpEventType.ResponseHeader ||
  event.type === HttpEventType.DownloadProgress ||
  event.type === HttpEventType.Response;

/** The text of the body so far: each event tells it from the start. */
const textOf = (event: Answer): string => {
  if (event instanceof HttpErrorResponse) return typeof event.error === 'string' ? event.error : '';
  if (event.type === HttpEventType.DownloadProgress) return event.partialText ?? '';
  return event.type === HttpEventType.Response ? (event.body ?? '') : '';
};

/** What is new in each text, where each begins with the one before it. */
const growth = (texts$: Observable<string>): Observable<string> =>
  texts$.pipe(
    scan((before, text) => ({ length: text.length, chunk: text.slice(before.length) }), {
      length: 0,
      chunk: '',
    }),
    mergeMap(({ chunk }) => (chunk === '' ? EMPTY : of(chunk))),
  );

/**
 * A fetch over an `HttpClient`, so that interceptors see the requests of `messagesApi`. The answer comes with its headers,
 * its body grows with the progress events. Unsubscribing from what is read of it aborts the request.
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
      const answers$ = http.request<string>(request).pipe(
        mergeMap((event): Observable<Answer> => (isAnswer(event) ? of(event) : EMPTY)),
        catchError((error: unknown) => {
          // A refusal is an answer; its cause is more telling than "Http failure response for ...: 0 Unknown Error".
          if (!(error instanceof HttpErrorResponse)) throw error;
          if (error.status > 0) return of(error);
          throw error.error instanceof Error ? error.error : new Error(error.message, { cause: error });
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
          return {
            status,
            headers: answered,
            body: answers$.pipe(map(textOf), growth),
            text: () =>
              answers$.pipe(
                map(textOf),
                last(() => true, ''),
              ),
          };
        }),
      );
    });
