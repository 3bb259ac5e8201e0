/** What people know a passage by. */

/**
 * The place of a passage in its document, such as "leave.md, 'Sick leave', page 3"; may be empty.
 */
export function getPlace({ metadata }) {
  return typeof metadata?.place === "string" && typeof metadata.document === "string"
    ? metadata.place
    : "";
}

/** An address of the web; that of a PDF opens it at a page. */
export function getAddress(url, page) {
  return page && /^[^?#]*\.pdf(\?[^#]*)?$/i.test(url) ? `${url}#page=${page}` : url;
}

/** The place of a passage, else its title; empty where it has neither. */
export function getName(passage) {
  return getPlace(passage) || passage.title || "";
}
