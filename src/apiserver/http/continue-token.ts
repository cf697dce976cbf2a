/** Where the next page of a list starts, as an opaque text the client hands back. */
import { badRequest } from '#api/meta/status-error.ts'

export type Continuation = {
  /** The revision the whole list is read at; -1 when it is gone and the rest is read as it is now. */
  revision: number
  /** The first key of the page, below the resource's prefix. */
  startKey: string
}

export function continueToken({ revision, startKey }: Continuation): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: startKey })).toString('base64url')
}

export function parseContinueToken(token: string): Continuation {
  const refuse = (why: string) => badRequest(`invalid continue token: continue key is not valid: ${why}`)
  const illegal = /[^A-Za-z0-9_-]/.exec(token)
  if (illegal || token.length % 4 === 1) throw refuse(`illegal base64 data at input byte ${illegal?.index ?? token.length - 1}`)
  const text = Buffer.from(token, 'base64url').toString('utf8')
  let parsed: { v?: unknown; rv?: unknown; start?: unknown }
  try {
    // As Go has it, null says nothing.
    parsed = JSON.parse(text) ?? {}
  } catch {
    // Go looks at bytes.
    const first = Buffer.from(token, 'base64url').toString('latin1').trim()[0] ?? ''
    const shown = first > '~' ? `\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}` : first
    throw refuse(/[{["\dtfn-]/.test(first) ? 'unexpected end of JSON input' : `invalid character '${shown}' looking for beginning of value`)
  }
  if (parsed.v !== 'meta.k8s.io/v1') throw refuse('server does not recognize this encoded version')
  if (parsed.rv === 0) throw refuse('incorrect encoded start resourceVersion')
  if (typeof parsed.start !== 'string' || parsed.start === '') throw refuse('encoded start key empty')
  // A start that climbs out of the resource would read what the client may not see.
  if (`/${parsed.start}`.includes('/../') || parsed.start.startsWith('/')) throw refuse(`${parsed.start} is not a valid start key`)
  return { revision: Number(parsed.rv), startKey: parsed.start }
}
