/** URLs as Go's net/url splits them: fields that hold one are validated by its parts and its words. */

import { quoted } from '#api/meta/check.ts'
import { errorMessage } from '#base/error-message.ts'

export type GoUrl = { scheme: string; user: string | undefined; host: string; path: string; rawQuery: string; fragment: string }

/** Throws what Go says about a text that is no URL: `parse "…": missing protocol scheme`. */
export function parseGoUrl(text: string): GoUrl {
  const hash = text.indexOf('#')
  const fragment = hash < 0 ? '' : text.slice(hash + 1)
  try {
    return { ...parseWithoutFragment(hash < 0 ? text : text.slice(0, hash)), fragment: unescaped(fragment) }
  } catch (error) {
    throw new Error(`parse ${quoted(text)}: ${errorMessage(error)}`)
  }
}

function parseWithoutFragment(text: string): Omit<GoUrl, 'fragment'> {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  if (/[\u0000-\u001f\u007f]/.test(text)) throw new Error('net/url: invalid control character in URL')
  const { scheme, rest: afterScheme } = splitScheme(text)
  const question = afterScheme.indexOf('?')
  const rawQuery = question < 0 ? '' : afterScheme.slice(question + 1)
  const rest = question < 0 ? afterScheme : afterScheme.slice(0, question)
  if (!rest.startsWith('/')) {
    // What has a scheme but no slash is opaque: mailto:somebody.
    if (scheme !== '') return { scheme, user: undefined, host: '', path: '', rawQuery }
    const [segment = ''] = rest.split('/')
    if (segment.includes(':')) throw new Error('first path segment in URL cannot contain colon')
  }
  if (!rest.startsWith('//') || (scheme === '' && rest.startsWith('///'))) {
    return { scheme, user: undefined, host: '', path: unescaped(rest), rawQuery }
  }
  const slash = rest.indexOf('/', 2)
  const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash)
  const at = authority.lastIndexOf('@')
  const user = at < 0 ? undefined : unescaped(authority.slice(0, at))
  const host = checkedHost(authority.slice(at + 1))
  return { scheme, user, host, path: slash < 0 ? '' : unescaped(rest.slice(slash)), rawQuery }
}

function splitScheme(text: string): { scheme: string; rest: string } {
  for (const [index, char] of [...text].entries()) {
    if (/[A-Za-z]/.test(char)) continue
    if (/[0-9+\-.]/.test(char)) {
      if (index === 0) break
      continue
    }
    if (char !== ':') break
    if (index === 0) throw new Error('missing protocol scheme')
    return { scheme: text.slice(0, index).toLowerCase(), rest: text.slice(index + 1) }
  }
  return { scheme: '', rest: text }
}

function checkedHost(host: string): string {
  const bracket = host.startsWith('[') ? host.lastIndexOf(']') : -1
  if (host.startsWith('[') && bracket < 0) throw new Error("missing ']' in host")
  const colon = bracket >= 0 ? bracket + 1 : host.lastIndexOf(':')
  const port = colon < 0 ? '' : host.slice(colon)
  if (port !== '' && !/^:[0-9]*$/.test(port)) throw new Error(`invalid port ${quoted(port)} after host`)
  const wrong = /[ "<>\\^`{}|]/.exec(host)
  if (wrong !== null) throw new Error(`invalid character ${quoted(wrong[0])} in host name`)
  return host
}

function unescaped(text: string): string {
  const wrong = /%(?![0-9A-Fa-f]{2})/.exec(text)
  if (wrong !== null) throw new Error(`invalid URL escape ${quoted(text.slice(wrong.index, wrong.index + 3))}`)
  return text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'))
}
