import * as t from 'io-ts';
import { define, struct, variants } from './codec';

const charLocation = /*#__PURE__*/ define(() =>
  struct(
    'CharLocation',
    {
      type: t.literal('char_location'),
      cited_text: t.string,
      document_index: t.number,
      start_char_index: t.number,
      end_char_index: t.number,
    },
    { document_title: t.string, file_id: t.string },
  ),
);
/** A citation of characters of a plain text document. */
export interface CharLocation extends t.TypeOf<typeof charLocation> {}
export const CharLocation: t.Type<CharLocation> = charLocation;

const pageLocation = /*#__PURE__*/ define(() =>
  struct(
    'PageLocation',
    {
      type: t.literal('page_location'),
      cited_text: t.string,
      document_index: t.number,
      start_page_number: t.number,
      end_page_number: t.number,
    },
    { document_title: t.string, file_id: t.string },
  ),
);
/** A citation of pages of a PDF. */
export interface PageLocation extends t.TypeOf<typeof pageLocation> {}
export const PageLocation: t.Type<PageLocation> = pageLocation;

const contentBlockLocation = /*#__PURE__*/ define(() =>
  struct(
    'ContentBlockLocation',
    {
      type: t.literal('content_block_location'),
      cited_text: t.string,
      document_index: t.number,
      start_block_index: t.number,
      end_block_index: t.number,
    },
    { document_title: t.string, file_id: t.string },
  ),
);
/** A citation of content blocks of a document that was given as blocks. */
export interface ContentBlockLocation extends t.TypeOf<typeof contentBlockLocation> {}
export const ContentBlockLocation: t.Type<ContentBlockLocation> = contentBlockLocation;

const webSearchResultLocation = /*#__PURE__*/ define(() =>
  struct(
    'WebSearchResultLocation',
    {
      type: t.literal('web_search_result_location'),
      cited_text: t.string,
      encrypted_index: t.string,
      url: t.string,
    },
    { title: t.string },
  ),
);
/** A citation of a web search result. */
export interface WebSearchResultLocation extends t.TypeOf<typeof webSearchResultLocation> {}
export const WebSearchResultLocation: t.Type<WebSearchResultLocation> = webSearchResultLocation;

const searchResultLocation = /*#__PURE__*/ define(() =>
  struct(
    'SearchResultLocation',
    {
      type: t.literal('search_result_location'),
      cited_text: t.string,
      search_result_index: t.number,
      source: t.string,
      start_block_index: t.number,
      end_block_index: t.number,
    },
    { title: t.string },
  ),
);
/** A citation of a `search_result` block. */
export interface SearchResultLocation extends t.TypeOf<typeof searchResultLocation> {}
export const SearchResultLocation: t.Type<SearchResultLocation> = searchResultLocation;

/** Where a piece of the reply's text comes from (API docs: Citations). */
export type TextCitation =
  CharLocation | PageLocation | ContentBlockLocation | WebSearchResultLocation | SearchResultLocation;
export const TextCitation: t.Type<TextCitation> = /*#__PURE__*/ define(() =>
  variants('TextCitation', 'type', {
    char_location: CharLocation,
    page_location: PageLocation,
    content_block_location: ContentBlockLocation,
    web_search_result_location: WebSearchResultLocation,
    search_result_location: SearchResultLocation,
  }),
);

const charLocationParam = /*#__PURE__*/ define(() =>
  struct(
    'CharLocationParam',
    {
      type: t.literal('char_location'),
      cited_text: t.string,
      document_index: t.number,
      start_char_index: t.number,
      end_char_index: t.number,
    },
    { document_title: t.string },
  ),
);
/** A {@link CharLocation} sent back. */
export interface CharLocationParam extends t.TypeOf<typeof charLocationParam> {}
export const CharLocationParam: t.Type<CharLocationParam> = charLocationParam;

const pageLocationParam = /*#__PURE__*/ define(() =>
  struct(
    'PageLocationParam',
    {
      type: t.literal('page_location'),
      cited_text: t.string,
      document_index: t.number,
      start_page_number: t.number,
      end_page_number: t.number,
    },
    { document_title: t.string },
  ),
);
/** A {@link PageLocation} sent back. */
export interface PageLocationParam extends t.TypeOf<typeof pageLocationParam> {}
export const PageLocationParam: t.Type<PageLocationParam> = pageLocationParam;

const contentBlockLocationParam = /*#__PURE__*/ define(() =>
  struct(
    'ContentBlockLocationParam',
    {
      type: t.literal('content_block_location'),
      cited_text: t.string,
      document_index: t.number,
      start_block_index: t.number,
      end_block_index: t.number,
    },
    { document_title: t.string },
  ),
);
/** A {@link ContentBlockLocation} sent back. */
export interface ContentBlockLocationParam extends t.TypeOf<typeof contentBlockLocationParam> {}
export const ContentBlockLocationParam: t.Type<ContentBlockLocationParam> = contentBlockLocationParam;

/** A {@link TextCitation} sent back; a citation of a reply is one. */
export type TextCitationParam =
  | CharLocationParam
  | PageLocationParam
  | ContentBlockLocationParam
  | WebSearchResultLocation
  | SearchResultLocation;
export const TextCitationParam: t.Type<TextCitationParam> = /*#__PURE__*/ define(() =>
  variants('TextCitationParam', 'type', {
    char_location: CharLocationParam,
    page_location: PageLocationParam,
    content_block_location: ContentBlockLocationParam,
    web_search_result_location: WebSearchResultLocation,
    search_result_location: SearchResultLocation,
  }),
);
