/** Links of proxied pages: those to the page's own server must go through the proxy again. */

/** Attributes that hold a URL, by tag. */
const linkAttributes: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  applet: ['codebase'],
  area: ['href'],
  audio: ['src'],
  base: ['href'],
  blockquote: ['cite'],
  body: ['background'],
  button: ['formaction'],
  command: ['icon'],
  del: ['cite'],
  embed: ['src'],
  form: ['action'],
  frame: ['longdesc', 'src'],
  head: ['profile'],
  html: ['manifest'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['src', 'usemap', 'formaction'],
  ins: ['cite'],
  link: ['href'],
  object: ['classid', 'codebase', 'data', 'usemap'],
  q: ['cite'],
  script: ['src'],
  source: ['src'],
  video: ['poster', 'src'],
}

export type LinkRewriting = {
  /** What stands before the path of every page: `/api/v1/namespaces/a/services/b/proxy`. */
  prefix: string
  /** Names the page's server goes by: where it was found, and what the client calls it. */
  hosts: readonly string[]
}

/** Relative links, and links to others, stay as they are. */
export function rewrittenLink(link: string, { prefix, hosts }: LinkRewriting): string {
  const match = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(.*)$/is.exec(link)
  const [, scheme = '', host = '', path = '', rest = ''] = match ?? []
  if ((scheme !== '' && host === '') || (host !== '' && !hosts.includes(host)) || !path.startsWith('/')) return link
  if (path.startsWith(prefix)) return `${path}${rest}`
  return `${prefix}${path}${rest}`
}

// No part takes a `<` outside of quotes: a page of nothing but beginnings of tags is looked at once.
const tag = /<([a-z]+)((?:\s+[^\s=<>"'/]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s<>"']+))?)+)\s*\/?>/gi
const attribute = /(?<!\s)(\s+)([^\s=<>"'/]+)(\s*=\s*)("[^"]*"|'[^']*'|[^\s<>"']+)/g

export function rewrittenPage(html: string, rewriting: LinkRewriting): string {
  return html.replace(tag, (whole: string, name: string, attributes: string) => {
    const links = linkAttributes[name.toLowerCase()]
    if (links === undefined) return whole
    const rewritten = attributes.replace(attribute, (all: string, space: string, key: string, equals: string, quotedValue: string) => {
      if (!links.includes(key.toLowerCase())) return all
      const quote = quotedValue.startsWith('"') ? '"' : quotedValue.startsWith("'") ? "'" : ''
      const value = quote === '' ? quotedValue : quotedValue.slice(1, -1)
      return `${space}${key}${equals}${quote}${rewrittenLink(value, rewriting)}${quote}`
    })
    return whole.replace(attributes, () => rewritten)
  })
}

/** No tag is longer. */
const longestTagChars = 64 * 1024

/**
 * A page as it comes, however long it is: from its last `<` on it waits for what may be the rest of a tag. Where that one stands in
 * quotes, the links of its tag stay as they are.
 */
export async function* rewrittenPieces(pieces: AsyncIterable<Uint8Array>, rewriting: LinkRewriting): AsyncGenerator<Uint8Array> {
  let held = ''
  const rewritten = (text: string) => Buffer.from(rewrittenPage(text, rewriting), 'latin1')
  for await (const piece of pieces) {
    const text = held + Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1')
    const last = text.lastIndexOf('<')
    const end = last < 0 || text.length - last > longestTagChars ? text.length : last
    held = text.slice(end)
    if (end > 0) yield rewritten(text.slice(0, end))
  }
  if (held !== '') yield rewritten(held)
}
