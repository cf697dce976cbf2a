/** Many errors in one sentence. */
import type { FieldError } from './check.ts'

export const fieldErrorText = ({ field, body }: FieldError): string => `${field}: ${body}`

/** One message stands alone, several stand in brackets; what was said is not said again. */
export function aggregateMessages(messages: Iterable<string>): string {
  const said = [...new Set(messages)]
  return said.length === 1 ? (said[0] ?? '') : said.length === 0 ? '' : `[${said.join(', ')}]`
}
